/** The ways to sign in on the login page. */
export const LOGIN_METHODS = ['wallet', 'email', 'passkey'] as const;

/** The ID of a provider, in the path of its callback. No method of Usher's own has it. */
export const PROVIDER_ID = /^[a-z][a-z0-9-]{0,30}$/;

export type LoginMethod = (typeof LOGIN_METHODS)[number];

/** Without passkeys: replicas of a version that has none would answer their forms with 404. */
export const DEFAULT_LOGIN_METHODS: readonly LoginMethod[] = ['wallet', 'email'];

export function isLoginMethod(name: string): name is LoginMethod {
  return LOGIN_METHODS.some((method) => method === name);
}
