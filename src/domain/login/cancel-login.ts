import { addToQuery } from '../applications/redirect-uri.ts';
import { ONE_FACTOR } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { requireOpenIntent } from './login-intent.ts';

const rules = { loginIntentId: uuid };

/**
 * Returns the URL to which a user who cancels is redirected (RFC 6749, section 4.1.2.1, and RFC 9207). The intent stays
 * open: the user may come back and sign in.
 *
 * @throws ServiceError as `requireOpenIntent` does
 */
export async function cancelLogin(
  call: Call,
  tokens: AuthTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<{ redirectUrl: string }> {
  const intent = await requireOpenIntent(call, check(request, rules).loginIntentId);
  // RFC 9470, section 5: the application may then do with less, or say what it needs.
  const error = intent.requiredAssurance > ONE_FACTOR ? 'unmet_authentication_requirements' : 'access_denied';
  const protocol = tokens.protocolOf(intent);
  if (protocol) return { redirectUrl: protocol.toErrorUrl(intent, error) };
  const { redirectUri, state } = intent;
  return { redirectUrl: addToQuery(redirectUri, { error, state, iss: tokens.issuer }) };
}
