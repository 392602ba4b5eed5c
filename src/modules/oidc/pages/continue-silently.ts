/** The answer to `prompt=none`: continues the sign-in that this browser remembers, without a page. */
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { bindAnswer } from '../../../login-page/answer-cookie.ts';
import { identifyBrowser } from '../../../login-page/browser-cookie.ts';
import type { AuthorizationRequest } from '../domain/authorization/authorization-request.ts';
import { allowAgain, findAskedConsent, findAskingIntent, isRemembered } from '../domain/authorization/consent.ts';
import { readIdTokenHint } from '../domain/authorization/id-token-hint.ts';
import { OidcError } from '../domain/oidc-error.ts';
import { createCode } from '../domain/tokens/code.ts';
import type { AskedApplication, AskingClient } from './asking-client.ts';
import type { OidcPageRequest } from './oidc-page.ts';

/**
 * Completes a login by the remembered sign-in, and returns its authorization code.
 *
 * @param begin creates the login intent, if the network has permits
 * @throws OidcError `login_required`; `consent_required`; `access_denied` if the user may not enter the application; PageProblem
 */
export async function continueSilently(
  request: OidcPageRequest,
  { clientId, clientName, application, resource }: AskingClient & AskedApplication,
  { idTokenHint }: Pick<AuthorizationRequest, 'idTokenHint'>,
  begin: () => Promise<string>,
): Promise<string> {
  const { call, context, isSecure, parts } = request;
  const { oidc, tokens } = parts;
  const signIns = application.singleSignOn ? parts.rememberedSignIns : undefined;
  if (!signIns?.hasCookie(context, { isSecure })) throw new OidcError('login_required');
  const hint = idTokenHint === undefined ? undefined : readIdTokenHint(oidc.signingKeys, tokens.issuer, idTokenHint);
  const isOther = idTokenHint !== undefined && hint?.clientId !== clientId;
  if (isOther) throw new OidcError('login_required');
  const loginIntentId = await begin();
  const browser = bindAnswer(context, identifyBrowser(context, isSecure));
  try {
    await signIns.complete({ context, call, browser }, tokens, { loginIntentId, userId: hint?.userId ?? null });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new OidcError(error.reason === 'ACCESS_NOT_ALLOWED' ? 'access_denied' : 'login_required');
  }
  if (clientName !== null) await consentSilently(call, loginIntentId);
  return createCode(oidc.tokenKeys.code, loginIntentId, resource?.id);
}

/** @throws OidcError `consent_required` unless the user has consented before */
async function consentSilently(call: Call, loginIntentId: string): Promise<void> {
  const intent = await findAskingIntent(call, loginIntentId);
  const asked = intent && (await findAskedConsent(call, intent));
  if (!asked || !(await isRemembered(call, intent, asked))) throw new OidcError('consent_required');
  await allowAgain(call, intent);
}
