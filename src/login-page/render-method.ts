import type { SignInMethod } from '../domain/tokens/verify-token.ts';
import { type Html, html } from '../http/html.ts';
import type { Language, TextKey } from '../texts/texts.ts';

const METHODS: ReadonlyMap<SignInMethod, TextKey> = new Map<SignInMethod, TextKey>([
  ['email', 'account.method.email'],
  ['impersonation', 'account.method.impersonation'],
  ['issuer', 'account.method.issuer'],
  ['page', 'account.method.page'],
  ['passkey', 'account.method.passkey'],
  ['wallet', 'account.method.wallet'],
]);

/** Renders how somebody signed in. A provider that was removed is named by its ID. */
export function renderMethod(
  language: Language,
  method: SignInMethod,
  providers: { nameOf(providerId: string): string },
): Html {
  const key = METHODS.get(method);
  if (key) return html`${language.text(key)}`;
  return language.html('account.method.provider', { provider: providers.nameOf(method) || method });
}
