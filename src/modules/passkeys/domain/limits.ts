/** The limit per user and relying party. */
export const MAX_PASSKEYS = 10;

/** How long a passkey is young that was added after a sign-in without another one. */
export const YOUNG_PASSKEY_DAYS = 7;
