/**
 * The names of sign-in methods of Usher itself. Other methods are the IDs of providers. A module offers `passkey`, but
 * no provider may ever have this ID, because applications keep the names.
 */
export const LOGIN_METHODS = ['wallet', 'email', 'passkey'] as const;

/** The form of a provider's ID, which is part of the path of its callback. */
export const PROVIDER_ID = /^[a-z][a-z0-9-]{0,30}$/;

export type LoginMethod = (typeof LOGIN_METHODS)[number];

/** A method that the login page can offer. */
export interface OfferedMethod {
  readonly name: string;
  /** Why it cannot work with these settings. */
  readonly problem?: string | undefined;
}

export function isLoginMethod(name: string): name is LoginMethod {
  return LOGIN_METHODS.some((method) => method === name);
}
