/** The actions of other providers: the redirect to a provider, and its callback. */
import { selectIdentities } from '../domain/identities/list-identities.ts';
import { readAuthorization } from '../domain/providers/authorization-state.ts';
import { beginProviderLogin } from '../domain/providers/begin-provider-login.ts';
import { isRefusedByPerson, toProviderError } from '../domain/providers/oauth-errors.ts';
import { redeemProviderAnswer } from '../domain/providers/redeem-provider-answer.ts';
import { toUuid } from '../encoding/uuid-bytes.ts';
import type { HttpContext } from '../http/http-context.ts';
import { createLinkActions, finishLink } from './account-providers.ts';
import type { Remark } from './action.ts';
import { readEmailCookie } from './browser-cookie.ts';
import { leaveSignedIn } from './leave-signed-in.ts';
import { type LoginRequest, pickFields } from './login-request.ts';
import type { AccountPage, PageOffer } from './page-offer.ts';
import { callbackOf, toRemark } from './provider-callback.ts';
import { redirectToForm } from './redirect-to-form.ts';
import { renderIdentities } from './render-identities.ts';
import { sendRedirect } from './responses.ts';

/** The path of the action that serves the callbacks of all providers. */
const CALLBACK = '/login/callback/*';

export const PROVIDER_OFFER: PageOffer = {
  createActions: (account) => [
    { method: 'POST', path: '/login/provider', form: 'choice', run: leave },
    {
      method: 'GET',
      path: CALLBACK,
      form: 'choice',
      signsIn: true,
      readFields: readCallback,
      run: (request) => comeBack(request, account),
    },
    ...(account ? createLinkActions(account) : []),
  ],
  accountSection: {
    notes: { identity: 'account.note.identity', identityRemoved: 'account.note.identityRemoved' },
    async show({ call, parts }, view, { id: userId }) {
      const identities = await call.run(selectIdentities, { userId });
      const hasEmail = parts.methods.includes('email');
      return renderIdentities(view, { identities, providers: parts.providers.all, hasEmail });
    },
    exportData: async (call, userId) => ({ identities: await call.run(selectIdentities, { userId }) }),
  },
};

/** Returns the path by which an action is found: one stands for the callbacks of all providers. */
export function actionPathOf(path: string): string {
  return /^\/login\/callback\/[a-z0-9-]+$/.test(path) ? CALLBACK : path;
}

/** Reads the provider from the path of a callback, and the ID of the login intent from its `state`. */
function readCallback({ path }: HttpContext, query: string): Partial<LoginRequest['fields']> {
  const state = new URLSearchParams(query).get('state') ?? '';
  const loginIntentId = toUuid(Buffer.from(state.slice(0, 22), 'base64url').subarray(0, 16));
  return { loginIntentId, provider: path.slice(CALLBACK.length - 1), email: '' };
}

async function leave(request: LoginRequest): Promise<void> {
  const { call, parts, browser, fields, context } = request;
  const options = {
    purpose: fields.next ? ('passkeys' as const) : ('login' as const),
    redirectUriOf: (providerId: string) => callbackOf(parts, providerId),
    loginHint: fields.email || readEmailCookie(context, fields.loginIntentId),
  };
  sendRedirect(context, await beginProviderLogin(call, parts, browser, fields, options));
}

async function comeBack(given: LoginRequest, account: AccountPage | undefined): Promise<Remark | undefined> {
  const { call, parts, browser, context } = given;
  const { provider: providerId } = given.fields;
  const { state, error } = pickFields(given, 'state', 'error');
  const connection = parts.providers.require(providerId);
  const read = (purpose: 'login' | 'passkeys') =>
    readAuthorization(parts.authorizationKeys, state, {
      purpose,
      providerId,
      browserDigest: browser.digest,
      now: call.now,
    });
  const toPasskeys = read('passkeys');
  const authorization = toPasskeys ?? read('login');
  const link = authorization || !account ? undefined : await finishLink(account, given);
  if (link) return link.problem;
  const fields = { ...given.fields, next: toPasskeys ? ('passkeys' as const) : ('' as const) };
  const request = { ...given, fields };
  if (!authorization || isRefusedByPerson(error)) {
    redirectToForm(request, 'choice', { problem: 'PROVIDER_REFUSED' });
    return undefined;
  }
  if (error) throw toProviderError(error);
  const callback = new URL(`${callbackOf(parts, providerId)}?${context.query}`);
  const loginParts = { ...parts, hasEmail: parts.methods.includes('email') };
  const purpose = toPasskeys ? 'passkeys' : 'login';
  let problem: string | undefined;
  const onProblem = (detail: string) => (problem = detail);
  const redeemed = { connection, callback, authorization, purpose, onProblem } as const;
  const answer = await redeemProviderAnswer(call, loginParts, browser, redeemed);
  if ('redirectUrl' in answer) await leaveSignedIn(request, answer, { offersPasskey: true });
  else redirectToForm({ ...request, fields: { ...fields, email: answer.email, link: providerId } }, 'link');
  return toRemark(problem);
}
