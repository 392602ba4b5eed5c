import type { Core } from '../module.ts';

export type DemoParts = Pick<
  Core,
  | 'authPageUrl'
  | 'cipher'
  | 'clock'
  | 'database'
  | 'policy'
  | 'webhooksPerApplication'
  | 'sessionMaxAgeSeconds'
  | 'tokens'
  | 'url'
>;
