/**
 * The pages at which a person lets a device in (RFC 8628, section 3.3): the code, what the device wants, and, after the
 * login, a button. No link and no remembered sign-in lets a device in without it.
 */
import { isSignInLive } from '../../../domain/login/find-login-state.ts';
import { createAuthPageLink } from '../../../domain/login/generate-auth-url.ts';
import {
  bindAnswer,
  type IdentifiedBrowser,
  identifyBrowser,
  isOwnForm,
} from '../../../login-page/browser/browser-cookie.ts';
import { loginPathOf } from '../../../login-page/offer/login-request.ts';
import { toPageApplication } from '../../../login-page/pages/page-application.ts';
import { sendPage, sendRedirect } from '../../../login-page/pages/responses.ts';
import { DEVICE_PATHS } from '../domain/authorization/authorization-answer.ts';
import { allowDevice, denyDevice } from '../domain/devices/decide-device-login.ts';
import { readUserCode } from '../domain/devices/device-codes.ts';
import { type DeviceLogin, findDeviceLogin } from '../domain/devices/find-device-login.ts';
import { findUserCode } from '../domain/devices/find-user-code.ts';
import { createCode, readCode } from '../domain/tokens/code.ts';
import type { TokenKeys } from '../domain/tokens/token-keys.ts';
import { type OidcPageRequest, PageProblem } from './oidc-page.ts';
import {
  type DeviceView,
  renderDeviceApproval,
  renderDeviceRequest,
  renderDeviceResult,
  renderUserCode,
} from './render-device.ts';

/** In characters. A code has 9, and its field no more than these. */
const MAX_SHOWN = 20;

/** Asks for the code of the device, which a link may fill in. */
export async function enterUserCode(request: OidcPageRequest): Promise<void> {
  const { call, context, languages, parameters, parts, place } = request;
  const browser = identifyBrowser(context, request.isSecure);
  const typed = parameters.get('user_code') ?? '';
  const shownCode = typed.slice(0, MAX_SHOWN);
  const isPosted = context.request.method === 'POST';
  const code = isPosted ? readUserCode(typed) : undefined;
  if (isPosted) requireOwnForm(request, browser);
  const { tokenKeys } = parts.oidc;
  const found = code ? await findUserCode(call, tokenKeys, { code, address: context.clientAddress }) : 'wrong';
  if (found === 'too many') throw new PageProblem('too-many-codes', 'temporarily_unavailable');
  if (found !== 'wrong') {
    const path = place.path.replace(/\/device$/, DEVICE_PATHS.request);
    return sendRedirect(context, toUrl(path, { request: createCode(tokenKeys.deviceRequest, found.loginIntentId) }));
  }
  const language = languages.languageFor();
  const shown = { path: place.path, query: typed ? [['user_code', shownCode] as const] : [] };
  const alert = isPosted ? language.text('device.wrong') : '';
  sendPage(
    context,
    200,
    renderUserCode({ language, place: shown, formToken: browser.formToken, code: shownCode, alert }),
  );
}

/** Shows who wants to sign in a device, before the login. */
export async function showDeviceRequest(request: OidcPageRequest): Promise<void> {
  const { context, parts } = request;
  const browser = identifyBrowser(context, request.isSecure);
  const login = await findLogin(request, 'deviceRequest', 'request');
  if (await decides(request, browser, login, 'request')) return;
  const loginUrl = createAuthPageLink(parts.authPageUrl)(login.id, login.clientId);
  sendPage(context, 200, renderDeviceRequest(toView(request, browser, login, 'request'), loginUrl));
}

/** Asks the person who has just completed the login whether to let the device in. */
export async function approveDevice(request: OidcPageRequest): Promise<void> {
  const { call, context } = request;
  const browser = bindAnswer(context, identifyBrowser(context, request.isSecure));
  const login = await findLogin(request, 'deviceApproval', 'code');
  const { browserDigest, completedAt, userId, userLabel } = login;
  if (!completedAt || !userId) throw new PageProblem('unknown');
  // Another page than Usher's may have completed the login: it does not know the browser.
  const isOther = browserDigest?.equals(browser.digest) === false;
  const signedIn = { ...login, completedAt, userId };
  if (isOther || !(await isSignInLive(call, browser, signedIn))) throw new PageProblem('completed');
  if (await decides(request, browser, login, 'code', signedIn)) return;
  sendPage(context, 200, renderDeviceApproval(toView(request, browser, login, 'code'), userLabel));
}

/**
 * Stores a decision that was posted, or shows one that was made before. Returns whether it has answered the request.
 *
 * @param signedIn the login of a person who may let the device in. Without it, the device can only be denied
 */
async function decides(
  request: OidcPageRequest,
  browser: IdentifiedBrowser,
  login: DeviceLogin,
  name: 'request' | 'code',
  signedIn?: Parameters<typeof allowDevice>[2],
): Promise<boolean> {
  const { call, context, parameters, parts, place } = request;
  if (login.approved !== null) {
    sendPage(context, 200, renderDeviceResult(toView(request, browser, login, name), login.approved));
    return true;
  }
  if (login.expiresAt <= call.now) throw new PageProblem('device-expired');
  if (context.request.method !== 'POST') return false;
  requireOwnForm(request, browser);
  if (signedIn && parameters.get('decision') === 'allow') await allowDevice(call, parts.oidc.tokenKeys, signedIn);
  else await denyDevice(call, login);
  sendRedirect(context, toUrl(place.path, { [name]: parameters.get(name) ?? '' }));
  return true;
}

/** @throws PageProblem if the parameter is no login that Usher has sealed with these keys */
async function findLogin(
  { call, oidcCall, parameters, parts }: OidcPageRequest,
  keys: keyof TokenKeys,
  name: string,
): Promise<DeviceLogin> {
  const { loginIntentId } = readCode(parts.oidc.tokenKeys[keys], parameters.get(name) ?? '') ?? {};
  const login = loginIntentId && (await findDeviceLogin(call, loginIntentId));
  if (!login) throw new PageProblem('unknown');
  oidcCall.setApplication(login.applicationId);
  return login;
}

/** @throws PageProblem unless Usher has shown the form to this browser */
function requireOwnForm({ parameters }: OidcPageRequest, browser: IdentifiedBrowser): void {
  if (isOwnForm(browser, parameters.get('token') ?? '')) return;
  throw new PageProblem(browser.isNew ? 'no-cookie' : 'stale-form');
}

function toView(
  { call, context, languages, parameters, parts, place }: OidcPageRequest,
  { formToken }: IdentifiedBrowser,
  login: DeviceLogin,
  name: 'request' | 'code',
): DeviceView {
  const language = languages.languageFor();
  const application = toPageApplication({ ...login, redirectUris: [] }, language, loginPathOf(parts));
  const query = [[name, parameters.get(name) ?? ''] as const];
  return {
    ...{ language, application, formToken, login },
    place: { path: place.path, query },
    address: context.clientAddress,
    now: call.now,
  };
}

function toUrl(path: string, query: Readonly<Record<string, string>>): string {
  return `${path}?${new URLSearchParams(query)}`;
}
