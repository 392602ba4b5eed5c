import { addToQuery } from '../applications/redirect-uri.ts';
import type { Call } from '../call.ts';
import { errorUrlOf, isOidcIntent } from '../oidc/authorization-answer.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
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
  issuer: string,
  request: Unchecked<keyof typeof rules>,
): Promise<{ redirectUrl: string }> {
  const intent = await requireOpenIntent(call, check(request, rules).loginIntentId);
  if (isOidcIntent(intent)) return { redirectUrl: errorUrlOf(issuer, intent, 'access_denied') };
  const { redirectUri, state } = intent;
  return { redirectUrl: addToQuery(redirectUri, { error: 'access_denied', state, iss: issuer }) };
}
