/** The answer to `prompt=none`: continues the sign-in that this browser remembers, without a page. */
import { ServiceError } from '../../../domain/core/errors.ts';
import { bindAnswer } from '../../../login-page/answer-cookie.ts';
import { identifyBrowser } from '../../../login-page/browser-cookie.ts';
import type { AuthorizationRequest } from '../domain/authorization-request.ts';
import { createCode } from '../domain/code.ts';
import { readIdTokenHint } from '../domain/id-token-hint.ts';
import type { OidcClient } from '../domain/oidc-clients.ts';
import { OidcError } from '../domain/oidc-error.ts';
import type { OidcPageRequest } from './oidc-page.ts';

/**
 * Completes a login by the remembered sign-in, and returns its authorization code.
 *
 * @param begin creates the login intent, if the network has permits
 * @throws OidcError `login_required`; `access_denied` if the user may not enter the application; PageProblem
 */
export async function continueSilently(
  request: OidcPageRequest,
  client: OidcClient,
  { idTokenHint }: Pick<AuthorizationRequest, 'idTokenHint'>,
  begin: () => Promise<string>,
): Promise<string> {
  const { call, context, isSecure, parts } = request;
  const { oidc, tokens } = parts;
  const signIns = client.singleSignOn ? parts.rememberedSignIns : undefined;
  if (!signIns?.hasCookie(context, { isSecure })) throw new OidcError('login_required');
  const hint = idTokenHint === undefined ? undefined : readIdTokenHint(oidc.signingKeys, tokens.issuer, idTokenHint);
  const isOther = idTokenHint !== undefined && hint?.clientId !== client.clientId;
  if (isOther) throw new OidcError('login_required');
  const loginIntentId = await begin();
  const browser = bindAnswer(context, identifyBrowser(context, isSecure));
  try {
    await signIns.complete({ context, call, browser }, tokens, { loginIntentId, userId: hint?.userId ?? null });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new OidcError(error.reason === 'ACCESS_NOT_ALLOWED' ? 'access_denied' : 'login_required');
  }
  return createCode(oidc.tokenKeys.code, loginIntentId);
}
