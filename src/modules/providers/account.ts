/** Accounts at other providers, on the account page: linking one after a sign-in there, and removing one. */
import { TWO_FACTORS } from '../../domain/core/assurance.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { deleteUserIdentity } from '../../domain/identities/delete-identity.ts';
import { linkIdentity } from '../../domain/identities/link-identity.ts';
import { findRecentSignIn, requireRecentSignIn } from '../../domain/login/recent-sign-in.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Action, LoginPageParts, LoginRequest, Remark } from '../../login-page/offer/login-request.ts';
import type { Account, AccountPage } from '../../login-page/offer/page-offer.ts';
import { alertKeyOf } from '../../login-page/pages/alerts.ts';
import { sendRedirect } from '../../login-page/pages/responses.ts';
import { highestLevelOf } from './assurance-table.ts';
import { type Authorization, createAuthorization, readAuthorization } from './domain/authorization-state.ts';
import type { ProviderSettings } from './domain/begin-provider-login.ts';
import { isRefusedByPerson, toProviderError } from './domain/oauth-errors.ts';
import { requireProviderPermit } from './domain/redeem-provider-answer.ts';

export function createLinkActions(page: AccountPage, settings: ProviderSettings): readonly Action[] {
  const { changing } = page;
  return [
    {
      method: 'POST',
      path: '/account/providers/link',
      form: 'choice',
      run: changing('', (request, account) => beginLink(page, request, account, settings)),
    },
    {
      method: 'POST',
      path: '/account/providers/unlink',
      form: 'choice',
      run: changing('', (request, account) => unlink(page, request, account)),
    },
  ];
}

async function beginLink(
  page: AccountPage,
  request: LoginRequest,
  { user, signIn }: Account,
  settings: ProviderSettings,
): Promise<void> {
  const { browser, call, context, fields, parts } = request;
  // Without a recent sign-in, `link` would refuse the answer of the provider.
  if (!(await findRecentSignIn(call, browser, signIn))) return page.beginLogin(request);
  const connection = settings.providers.require(fields.provider);
  const authorization = createAuthorization(settings.authorizationKeys, user.id, bindingOf(request));
  const redirectUri = callbackOf(parts, fields.provider);
  const { href } = await connection.authorizationUrl(authorization, { redirectUri, loginHint: user.email });
  sendRedirect(context, href);
}

/** Returns the values to which the `state` of the link is bound. */
function bindingOf({ browser, call, fields }: LoginRequest) {
  return { purpose: 'link', providerId: fields.provider, browserDigest: browser.digest, now: call.now } as const;
}

/**
 * Answers the callback if it belongs to a link that this browser has begun, and returns the problem that the page then
 * shows. Returns undefined for any other callback.
 */
export async function finishLink(
  page: AccountPage,
  request: LoginRequest,
  settings: ProviderSettings,
): Promise<{ problem: Remark | undefined } | undefined> {
  const { fields } = request;
  const authorization = readAuthorization(
    settings.authorizationKeys,
    pickFields(request, 'state').state,
    bindingOf(request),
  );
  if (!authorization) return undefined;
  const account = await page.read(request);
  // Somebody else may have signed in meanwhile.
  const isSame = account?.user.id === authorization.subjectId && account.isFresh;
  let problem: Remark | undefined;
  if (!isSame) page.redirect(request, '');
  else if (isRefusedByPerson(pickFields(request, 'error').error)) {
    request.note({ reason: 'PROVIDER_REFUSED' });
    page.redirect(request, '', { problem: 'PROVIDER_REFUSED', provider: fields.provider });
  } else {
    const linking = link(page, { ...request, call: account.call }, account, { authorization, settings });
    problem = await linking.catch((error: unknown) => showProblem(page, request, error));
  }
  return { problem };
}

async function link(
  page: AccountPage,
  request: LoginRequest,
  { user, signIn }: Account,
  { authorization, settings }: { readonly authorization: Authorization; readonly settings: ProviderSettings },
): Promise<Remark | undefined> {
  const { browser, call, context, fields, parts } = request;
  const { error } = pickFields(request, 'error');
  if (error) throw toProviderError(error);
  await requireRecentSignIn(call, browser, signIn);
  await requireProviderPermit(call, parts.codes, browser);
  const callback = new URL(`${callbackOf(parts, fields.provider)}?${context.query}`);
  const connection = settings.providers.require(fields.provider);
  const { issuer, subject, problem } = await connection.identify(callback, authorization);
  const identity = { issuer, subject, provider: fields.provider };
  // Again: the answer of the provider may have taken seconds.
  const { cutoffCount, intent } = await requireRecentSignIn(call, browser, signIn);
  const owner = { userId: user.id, email: user.email };
  const level = Math.max(TWO_FACTORS, highestLevelOf(connection.provider.assurance));
  const linking = { assurance: intent.assurance, isVouchedFor: false, level, origin: intent };
  const isLinked = await linkIdentity({ ...call, cutoffCount }, identity, owner, linking);
  page.redirect(request, '', isLinked ? { done: 'identity' } : {});
  return toRemark(problem);
}

function showProblem(page: AccountPage, request: LoginRequest, error: unknown): ServiceError {
  if (!(error instanceof ServiceError)) throw error;
  page.redirect(request, '', { problem: alertKeyOf(error), provider: request.fields.provider });
  return error;
}

/** Refuses if people cannot sign in with codes: the account may be the only way to sign in. */
async function unlink(page: AccountPage, request: LoginRequest, { user }: Account): Promise<void> {
  const { call, parts } = request;
  if (!parts.methods.includes('email')) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
  await deleteUserIdentity(call, { userId: user.id, ...pickFields(request, 'issuer', 'subject') });
  page.redirect(request, '', { done: 'identityRemoved' });
}

/** Returns the remark that the provider has refused to tell the address of a person, whom Usher knows nevertheless. */
export function toRemark(detail: string | undefined): Remark | undefined {
  return detail === undefined ? undefined : { reason: 'PROVIDER_UNAVAILABLE', detail };
}

/** Returns the redirect URI of a provider. Each provider has its own, so that no provider can answer for another. */
export function callbackOf({ authPageUrl }: Pick<LoginPageParts, 'authPageUrl'>, providerId: string): string {
  return `${authPageUrl}/callback/${providerId}`;
}
