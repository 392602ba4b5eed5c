import { addToQuery } from '../applications/redirect-uri.ts';
import type { Call } from '../call.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { requireOpenIntent } from './login-intent.ts';

const rules = { loginIntentId: uuid };

/**
 * Where to send a user who does not want to sign in (RFC 6749, section 4.1.2.1, and RFC 9207). The
 * intent stays open: who comes back within its time may still sign in.
 */
export async function cancelLogin(
  call: Call,
  issuer: string,
  request: Unchecked<keyof typeof rules>,
): Promise<{ redirectUrl: string }> {
  const { redirectUri, state } = await requireOpenIntent(call, check(request, rules).loginIntentId);
  return { redirectUrl: addToQuery(redirectUri, { error: 'access_denied', state, iss: issuer }) };
}
