import type { Call } from '../../../domain/core/call.ts';
import { check, text, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { requireOpenIntent } from '../../../domain/login/login-intent.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { type AuthorizationKeys, createAuthorization } from './authorization-state.ts';
import type { LoginProviders } from './login-providers.ts';
import { freshnessOf, requireAskable } from './provider-freshness.ts';

export interface ProviderSettings {
  readonly providers: LoginProviders;
  readonly authorizationKeys: AuthorizationKeys;
}

const rules = { loginIntentId: uuid, provider: text({ max: 31 }) };

/**
 * Returns the authorization URL of the provider for this login. The provider redirects the browser to the redirect URI.
 *
 * @throws ServiceError `Login method not enabled`, `Sign-in not fresh`, `Provider unavailable`, and as `requireOpenIntent` does
 */
export async function beginProviderLogin(
  call: Call,
  { providers, authorizationKeys }: ProviderSettings,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
  options: {
    readonly purpose: 'login' | 'passkeys';
    readonly redirectUriOf: (providerId: string) => string;
    readonly loginHint: string;
  },
): Promise<string> {
  const { loginIntentId, provider: providerId } = check(request, rules);
  const connection = providers.require(providerId);
  const freshness = freshnessOf(await requireOpenIntent(call, loginIntentId, providerId), options.purpose);
  requireAskable(connection.provider, freshness);
  const binding = { purpose: options.purpose, providerId, browserDigest: browser.digest, now: call.now };
  const authorization = createAuthorization(authorizationKeys, loginIntentId, binding);
  const redirectUri = options.redirectUriOf(providerId);
  const { loginHint } = options;
  return (await connection.authorizationUrl(authorization, { redirectUri, loginHint, freshness })).href;
}
