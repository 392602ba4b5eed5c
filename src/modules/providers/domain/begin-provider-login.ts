import { ONE_FACTOR } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { check, text, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { requireOpenIntent } from '../../../domain/login/login-intent.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { highestLevelOf } from '../assurance-table.ts';
import { type AuthorizationKeys, createAuthorization, type LoginPurpose } from './authorization-state.ts';
import type { LoginProviders } from './login-providers.ts';
import { freshnessOf, requireAskable } from './provider-freshness.ts';

export interface ProviderSettings {
  readonly providers: LoginProviders;
  readonly authorizationKeys: AuthorizationKeys;
}

// Equivalent: limit: no provider has such an ID, whatever its length
const rules = { loginIntentId: uuid, provider: text({ max: 31 }) };

/**
 * Returns the authorization URL of the provider for this login. The provider redirects the browser to the redirect URI.
 *
 * @throws ServiceError `Login method not enabled`, `Sign-in not fresh`, `Provider unavailable`, `Assurance not met` (no second
 * factor of the provider counts for so much), and as `requireOpenIntent` does
 */
export async function beginProviderLogin(
  call: Call,
  { providers, authorizationKeys }: ProviderSettings,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
  options: {
    readonly purpose: LoginPurpose;
    readonly redirectUriOf: (providerId: string) => string;
    readonly loginHint: string;
  },
): Promise<string> {
  const { loginIntentId, provider: providerId } = check(request, rules);
  const connection = providers.require(providerId);
  const highest = highestLevelOf(connection.provider.assurance);
  const intent = await requireOpenIntent(call, loginIntentId, providerId, highest);
  const freshness = freshnessOf(intent, options.purpose);
  requireAskable(connection.provider, freshness);
  const binding = { purpose: options.purpose, providerId, browserDigest: browser.digest, now: call.now };
  const authorization = createAuthorization(authorizationKeys, loginIntentId, binding);
  const redirectUri = options.redirectUriOf(providerId);
  const { loginHint } = options;
  const stepsUp = intent.requiredAssurance > ONE_FACTOR;
  const asksAgain = options.purpose === 'again';
  const asked = { redirectUri, loginHint, freshness, stepsUp, asksAgain };
  return (await connection.authorizationUrl(authorization, asked)).href;
}
