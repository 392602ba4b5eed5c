/** For how long a sign-in proves who is at the browser. Continuing a remembered sign-in proves nothing. */

/** The greatest age of a sign-in for changes on the account page, and for sensitive pages of the console. */
export const FRESH_MINUTES = 15;

/** The greatest age of a sign-in for changes of how to sign in: passkeys, wallets and accounts at providers. */
export const RECENT_MINUTES = 10;
