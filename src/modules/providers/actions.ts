/** The actions of other providers: the redirect to a provider, and its callback. */

import { hasReason } from '../../domain/core/errors.ts';
import { toUuid } from '../../encoding/uuid-bytes.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { readEmailCookie } from '../../login-page/browser/browser-cookie.ts';
import { keepAttempt, keepRefusal } from '../../login-page/offer/keep-attempt.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Action, LoginRequest, Remark } from '../../login-page/offer/login-request.ts';
import type { AccountPage } from '../../login-page/offer/page-offer.ts';
import { sendRedirect } from '../../login-page/pages/responses.ts';
import { leaveSignedIn, redirectToForm } from '../../login-page/redirect-to-form.ts';
import { callbackOf, finishLink, toRemark } from './account.ts';
import { type LoginPurpose, readAuthorization } from './domain/authorization-state.ts';
import { beginProviderLogin, type ProviderSettings } from './domain/begin-provider-login.ts';
import { isRefusedByPerson, toProviderError } from './domain/oauth-errors.ts';
import { redeemProviderAnswer, TOO_NEW } from './domain/redeem-provider-answer.ts';

/** The path of the action that serves the callbacks of all providers. */
const CALLBACK = '/login/callback/*';
const signsInBy = 'provider';
const LOGIN_PURPOSES: readonly LoginPurpose[] = ['passkeys', 'login', 'again'];

export function createProviderActions(settings: ProviderSettings, account: AccountPage | undefined): readonly Action[] {
  const run = (request: LoginRequest) => comeBack(request, settings, account);
  return [
    { method: 'POST', path: '/login/provider', form: 'choice', signsInBy, run: (request) => leave(request, settings) },
    { method: 'GET', path: CALLBACK, form: 'choice', signsInBy, readFields: readCallback, run },
  ];
}

/** Reads the provider from the path of a callback, and the ID of the login intent from its `state`. */
function readCallback({ path }: HttpContext, query: string): Partial<LoginRequest['fields']> {
  const state = new URLSearchParams(query).get('state') ?? '';
  const loginIntentId = toUuid(Buffer.from(state.slice(0, 22), 'base64url').subarray(0, 16));
  return { loginIntentId, provider: path.slice(CALLBACK.length - 1), email: '' };
}

async function leave(request: LoginRequest, settings: ProviderSettings): Promise<void> {
  const { call, parts, browser, fields, context } = request;
  const options = {
    purpose: fields.next
      ? ('passkeys' as const)
      : pickFields(request, 'again').again
        ? ('again' as const)
        : ('login' as const),
    redirectUriOf: (providerId: string) => callbackOf(parts, providerId),
    loginHint: readEmailCookie(context, fields.loginIntentId),
  };
  sendRedirect(context, await beginProviderLogin(call, settings, browser, fields, options));
}

async function comeBack(
  given: LoginRequest,
  settings: ProviderSettings,
  account: AccountPage | undefined,
): Promise<Remark | undefined> {
  const { call, parts, browser, context } = given;
  const { provider: providerId } = given.fields;
  const { state, error } = pickFields(given, 'state', 'error');
  const connection = settings.providers.require(providerId);
  const binding = { providerId, browserDigest: browser.digest, now: call.now };
  const begun = LOGIN_PURPOSES.flatMap((purpose) => {
    const authorization = readAuthorization(settings.authorizationKeys, state, { ...binding, purpose });
    return authorization ? [{ authorization, purpose }] : [];
  })[0];
  // Equivalent: condition: no state is of a login and of a link, and links begin on an account page
  if (!begun && account) {
    const link = await finishLink(account, given, settings);
    if (link) return link.problem;
  }
  const fields = { ...given.fields, next: begun?.purpose === 'passkeys' ? ('passkeys' as const) : ('' as const) };
  const request = { ...given, fields };
  if (!begun || isRefusedByPerson(error)) {
    request.note({ reason: 'PROVIDER_REFUSED' });
    redirectToForm(request, 'choice', { problem: 'PROVIDER_REFUSED' });
    await keepAttempt(request, 'PROVIDER_REFUSED', { method: signsInBy });
    return undefined;
  }
  if (error) throw toProviderError(error);
  const callback = new URL(`${callbackOf(parts, providerId)}?${context.query}`);
  const loginParts = { ...parts, hasEmail: parts.methods.includes('email') };
  let problem: string | undefined;
  const onProblem = (detail: string) => (problem = detail);
  let answer: Awaited<ReturnType<typeof redeemProviderAnswer>>;
  try {
    answer = await redeemProviderAnswer(call, loginParts, browser, { connection, callback, ...begun, onProblem });
  } catch (refusal) {
    return askForMore(request, begun.purpose, refusal);
  }
  if ('redirectUrl' in answer) await leaveSignedIn(request, answer, { mayOffer: true });
  else redirectToForm({ ...request, fields: { ...fields, email: answer.email, link: providerId } }, 'link');
  return toRemark(problem);
}

/** Shows why the sign-in at the provider is not enough for the login, with a button that asks the provider again, once. */
async function askForMore(request: LoginRequest, purpose: LoginPurpose, refusal: unknown): Promise<undefined> {
  if (!hasReason(refusal, 'ASSURANCE_NOT_MET')) throw refusal;
  const { reason, detail } = refusal;
  const isFirst = purpose === 'login';
  request.note({ reason, detail });
  redirectToForm(request, 'choice', {
    problem: detail === TOO_NEW ? 'PROVIDER_TOO_NEW' : isFirst ? 'PROVIDER_ONE_FACTOR' : 'PROVIDER_ONE_FACTOR_AGAIN',
  });
  await keepRefusal(request, signsInBy, refusal);
  return undefined;
}
