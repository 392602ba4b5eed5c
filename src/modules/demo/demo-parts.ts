import type { ApiParts } from '../../api/api.ts';

type SharedParts =
  | 'authPageUrl'
  | 'cipher'
  | 'clock'
  | 'database'
  | 'hasAccountPage'
  | 'policy'
  | 'webhooksPerApplication'
  | 'sessionMaxAgeSeconds'
  | 'tokens';

export interface DemoParts extends Pick<ApiParts, SharedParts> {
  /** How this machine reaches the server. */
  readonly url: string;
  readonly hasOidc: boolean;
}
