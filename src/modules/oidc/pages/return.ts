/** The page that posts the answer to applications with `response_mode=form_post` (OAuth 2.0 Form Post Response Mode). */

import { UUID } from '../../../domain/core/validation.ts';
import { findLoginIntent, type LoginIntent } from '../../../domain/login/login-intent.ts';
import { isCodeLive } from '../domain/authorization/authorization-answer.ts';
import { readCode } from '../domain/tokens/code.ts';
import { type OidcPageRequest, PageProblem } from './oidc-page.ts';
import { sendAnswer } from './send-answer.ts';

/** The errors that the answer to a login which has begun may have. */
const ERRORS = ['access_denied', 'unmet_authentication_requirements'];

/** Takes a `code`, or an `intent` and an `error`. @throws PageProblem */
export async function returnToApplication(request: OidcPageRequest): Promise<void> {
  const { call, parameters, parts } = request;
  const code = parameters.get('code');
  if (code !== undefined) {
    const { loginIntentId } = readCode(parts.oidc.tokenKeys.code, code) ?? {};
    const intent = loginIntentId && (await findFormIntent(request, loginIntentId));
    if (!intent) throw new PageProblem('unknown');
    const { completedAt } = intent;
    if (!completedAt || !isCodeLive({ ...intent, completedAt }, call.now)) throw new PageProblem('completed');
    return sendAnswer(request, intent, { code });
  }
  const [loginIntentId = '', error = ''] = [parameters.get('intent'), parameters.get('error')];
  const intent = UUID.test(loginIntentId) ? await findFormIntent(request, loginIntentId) : undefined;
  if (!intent || !ERRORS.includes(error)) throw new PageProblem('unknown');
  sendAnswer(request, intent, { error });
}

async function findFormIntent({ call, oidcCall }: OidcPageRequest, id: string): Promise<LoginIntent | undefined> {
  const intent = await findLoginIntent(call, id);
  if (intent?.responseMode !== 'form_post') return undefined;
  oidcCall.setApplication(intent.applicationId);
  return intent;
}
