/**
 * The names of sign-in methods of Usher itself, with their labels in the console. Other methods are the IDs of
 * providers. Modules offer `passkey` and `wallet`, but no provider may ever have these IDs, because applications keep the
 * names.
 */
export const LOGIN_METHODS = { email: 'Code by e-mail', passkey: 'Passkey', wallet: 'Wallet' } as const;

/** What LOGIN_METHODS must do. */
export const METHODS_RULE = `must list ${Object.keys(LOGIN_METHODS).join(', ')} or IDs of LOGIN_PROVIDERS_FILE, comma-separated`;

/** The form of a provider's ID, which is part of the path of its callback. */
export const PROVIDER_ID = /^[a-z][a-z0-9-]{0,30}$/;

export type LoginMethod = keyof typeof LOGIN_METHODS;

/** A method that the login page can offer. */
export interface OfferedMethod {
  readonly name: string;
  /** Why it cannot work with these settings. */
  readonly problem?: string | undefined;
}

export function isLoginMethod(name: string): name is LoginMethod {
  return Object.hasOwn(LOGIN_METHODS, name);
}
