import type { Core } from '../module.ts';

export type DemoParts = Pick<
  Core,
  | 'authPageUrl'
  | 'cipher'
  | 'clock'
  | 'database'
  | 'hasAccountPage'
  | 'policy'
  | 'webhooksPerApplication'
  | 'sessionMaxAgeSeconds'
  | 'tokens'
  | 'url'
>;
