/** The ways to sign in on the login page. */
export const LOGIN_METHODS = ['wallet', 'email'] as const;

export type LoginMethod = (typeof LOGIN_METHODS)[number];
