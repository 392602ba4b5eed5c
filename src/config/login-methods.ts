/**
 * The names of sign-in methods of Usher itself, with their labels in the console. Other methods are the IDs of
 * providers. Modules offer `passkey` and `wallet`, but no provider may ever have these IDs, because applications keep the
 * names.
 */
export const LOGIN_METHODS = { email: 'Code by e-mail', passkey: 'Passkey', wallet: 'Wallet' } as const;

/** The methods of sign-ins that are not at a provider, with labels: those of the login page, and those of other pages. */
export const OWN_METHODS = {
  ...LOGIN_METHODS,
  page: 'Another page',
  issuer: 'Another issuer',
  impersonation: 'On behalf of the user',
  recovery: 'Recovery link',
} as const;

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

/** Returns whether it is the method of a sign-in that is not at a provider. */
export function isOwnMethod(name: string): name is keyof typeof OWN_METHODS {
  return Object.hasOwn(OWN_METHODS, name);
}

export function isLoginMethod(name: string): name is LoginMethod {
  return Object.hasOwn(LOGIN_METHODS, name);
}
