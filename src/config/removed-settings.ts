const OTHER_ISSUERS = 'put OpenID providers into LOGIN_PROVIDERS_FILE; let your own sign-in call CompleteLogin';

/** Settings of earlier versions, and what does their work now. */
const REMOVED = Object.entries({
  AUDIT_LOG: 'audit events are always in Postgres',
  AUTH_ISSUER: OTHER_ISSUERS,
  AUTH_JWKS_URL: OTHER_ISSUERS,
  ETHEREUM_RPC_URL: 'wallets that are contracts cannot sign in; their users need an e-mail, a passkey or a provider',
  WORKERS: 'for more cores run replicas behind a proxy',
}).map(([variable, instead]) => ({ variable, instead }));

/** Finds environment variables that have no effect any more, so that nobody relies on them unawares. */
export function findRemovedSettings(variables: readonly string[]): { variable: string; instead: string }[] {
  return REMOVED.filter(({ variable }) => variables.includes(variable));
}
