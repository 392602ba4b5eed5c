/** Environment variables that have no effect. */
import { isOneEditAway } from './is-one-edit-away.ts';

/** Shorter names, such as `PORT`, are one edit away from names that other programs use. */
const MIN_LENGTH = 8;

/**
 * Finds environment variables whose name is a misspelt name of a setting, so that nobody relies on them unawares.
 *
 * @param names those of all settings
 */
export function findMisspeltSettings(
  names: readonly string[],
  variables: readonly string[],
): { variable: string; setting: string }[] {
  const known = new Set(names);
  const settings = names.filter((name) => name.length >= MIN_LENGTH);
  return variables
    .filter((variable) => !known.has(variable))
    .flatMap((variable) => {
      const setting = settings.find((name) => isOneEditAway(variable, name));
      return setting ? [{ variable, setting }] : [];
    });
}

const OTHER_ISSUERS = 'put OpenID providers into LOGIN_PROVIDERS_FILE; let your own sign-in call CompleteLogin';

/** Settings of earlier versions, and what does their work now. */
const REMOVED = Object.entries({
  AUDIT_LOG: 'audit events are always in Postgres',
  AUTH_ISSUER: OTHER_ISSUERS,
  AUTH_JWKS_URL: OTHER_ISSUERS,
  ETHEREUM_RPC_URL: 'wallets that are contracts cannot sign in; their users need an e-mail, a passkey or a provider',
  WORKERS: 'for more cores run replicas behind a proxy',
}).map(([variable, instead]) => ({ variable, instead }));

/** Finds environment variables of earlier versions. */
export function findRemovedSettings(variables: readonly string[]): { variable: string; instead: string }[] {
  return REMOVED.filter(({ variable }) => variables.includes(variable));
}
