/** The sign-in methods of Usher itself on its login page. Other methods are the IDs of providers. */
export const LOGIN_METHODS = ['wallet', 'email', 'passkey'] as const;

/** The form of a provider's ID, which is part of the path of its callback. */
export const PROVIDER_ID = /^[a-z][a-z0-9-]{0,30}$/;

export type LoginMethod = (typeof LOGIN_METHODS)[number];

export function isLoginMethod(name: string): name is LoginMethod {
  return LOGIN_METHODS.some((method) => method === name);
}
