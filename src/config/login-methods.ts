/** The ways to sign in on the login page. */
export const LOGIN_METHODS = ['wallet', 'email', 'passkey'] as const;

export type LoginMethod = (typeof LOGIN_METHODS)[number];

/** Without passkeys: replicas of a version that has none would answer their forms with 404. */
export const DEFAULT_LOGIN_METHODS: readonly LoginMethod[] = ['wallet', 'email'];
