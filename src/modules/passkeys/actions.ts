/** The actions of passkeys: signing in, and adding, renaming and removing them after a sign-in. */

import { ServiceError } from '../../domain/core/errors.ts';
import { extendCode } from '../../domain/login/extend-code.ts';
import { findFactorOwner } from '../../domain/login/held-sign-in.ts';
import { takeChangePermit } from '../../domain/login/rate-limit.ts';
import { findRecentSignIn, requireRecentSignIn } from '../../domain/login/recent-sign-in.ts';
import { deletePasskey } from '../../domain/passkeys/delete-passkey.ts';
import { readCookie, setCookie } from '../../login-page/browser/browser-cookie.ts';
import { type LoginContext, pickFields } from '../../login-page/offer/login-context.ts';
import type { Action, LoginRequest, Remark } from '../../login-page/offer/login-request.ts';
import type { PageContent } from '../../login-page/pages/document.ts';
import { sendPage } from '../../login-page/pages/responses.ts';
import { leaveSignedIn, redirectToForm } from '../../login-page/redirect-to-form.ts';
import { answerProblem, showForm, viewLogin } from '../../login-page/show-form.ts';
import { createCreationOptions } from './domain/creation-options.ts';
import { listOwnPasskeys } from './domain/list-own-passkeys.ts';
import { type PasskeyLoginParts, redeemPasskey } from './domain/redeem-passkey.ts';
import type { RelyingParty } from './domain/relying-party.ts';
import { renamePasskey } from './domain/rename-passkey.ts';
import { storePasskey } from './domain/store-passkey.ts';
import { renderPasskeyList, renderPasskeyOffer } from './pages/passkey-list.ts';
import type { PasskeysView } from './pages/view.ts';

const needs = 'passkey';

export function createPasskeyActions(
  parts: Pick<PasskeyLoginParts, 'demandsPasskey' | 'relyingParty'>,
): readonly Action[] {
  const { relyingParty } = parts;
  const on = (run: Run): Action['run'] => {
    return (request) => run(request, relyingParty);
  };
  return [
    {
      method: 'POST',
      path: '/login/passkey',
      needs,
      form: 'choice',
      signsInBy: 'passkey',
      run: (request) => signIn(request, parts),
    },
    { method: 'GET', path: '/login/passkey/new', needs, form: 'passkey/new', run: on(showOffer) },
    { method: 'POST', path: '/login/passkey/new', needs, form: 'passkey/new', run: on(add) },
    { method: 'POST', path: '/login/passkey/later', needs, form: 'passkey/new', run: postpone },
    { method: 'GET', path: '/login/passkeys', needs, form: 'passkeys', run: on(showList) },
    { method: 'POST', path: '/login/passkeys/name', needs, form: 'passkeys', run: rename },
    { method: 'POST', path: '/login/passkeys/delete', needs, form: 'passkeys', run: remove },
  ];
}

type Run = (request: LoginRequest, relyingParty: RelyingParty) => ReturnType<Action['run']>;

async function signIn(
  request: LoginRequest,
  own: Pick<PasskeyLoginParts, 'demandsPasskey' | 'relyingParty'>,
): Promise<Remark | undefined> {
  const { call, parts, browser, context, fields, logger } = request;
  const { hasSteppedBack, ...completion } = await redeemPasskey(call, { ...parts, ...own }, browser, {
    ...fields,
    ...pickFields(request, 'credential'),
  });
  await leaveSignedIn(request, completion, { mayOffer: false });
  if (!hasSteppedBack) return undefined;
  // The authenticator was copied, or counts wrongly, as old ones do. Neither is a reason to lock its owner out.
  logger.warn({ requestId: context.requestId }, 'passkey counter stepped back');
  return { reason: 'PASSKEY_COUNTER_STEPPED_BACK' };
}

async function add(request: LoginRequest, relyingParty: RelyingParty): Promise<Remark | undefined> {
  const { call, browser, fields, languages } = request;
  const nameIn = (locale: string | null) => languages.languageFor(locale).text('passkey.defaultName');
  const created = { ...fields, ...pickFields(request, 'credential') };
  try {
    await storePasskey(call, relyingParty, browser, created, nameIn);
  } catch (error) {
    // The list of passkeys and the offer have the same form.
    if (!fields.next || !(error instanceof ServiceError)) throw error;
    await answerProblem(request, 'passkeys', error);
    return error;
  }
  await goOn(request);
  return undefined;
}

async function postpone(request: LoginRequest): Promise<void> {
  postponeOffer(request);
  await goOn(request);
}

async function rename(request: LoginRequest): Promise<void> {
  const { call, browser, fields, parts } = request;
  const { userId, cutoffCount } = await requireRecentSignIn(call, browser, fields);
  await takeChangePermit(call, parts.codes.keys, userId);
  const { id: passkeyId, name } = pickFields(request, 'id', 'name');
  await renamePasskey({ ...call, cutoffCount }, { passkeyId, name: name.trim(), userId });
  redirectToForm(request, 'passkeys');
}

async function remove(request: LoginRequest): Promise<void> {
  const { call, browser, fields, parts } = request;
  const { cutoffCount, intent, userId } = await requireRecentSignIn(call, browser, fields);
  await takeChangePermit(call, parts.codes.keys, userId);
  await deletePasskey({ ...call, cutoffCount }, { passkeyId: pickFields(request, 'id').id, userId }, intent);
  redirectToForm(request, 'passkeys');
}

/** Redirects to the list of passkeys if the person came from it, or to the application. */
async function goOn(request: LoginRequest): Promise<void> {
  const { call, browser, fields } = request;
  if (fields.next) return redirectToForm(request, 'passkeys');
  await extendCode(call, browser, fields.loginIntentId);
  await showForm(request, 'choice');
}

function showOffer(request: LoginRequest, relyingParty: RelyingParty): Promise<void> {
  return show(request, relyingParty, renderPasskeyOffer);
}

function showList(request: LoginRequest, relyingParty: RelyingParty): Promise<void> {
  return show(request, relyingParty, renderPasskeyList);
}

/** Shows a page to the browser that has signed in. Other browsers get the first page of the login. */
async function show(
  request: LoginRequest,
  relyingParty: RelyingParty,
  render: (view: PasskeysView) => PageContent,
): Promise<void> {
  const { call, browser, context, fields } = request;
  const signIn = await findRecentSignIn(call, browser, fields);
  if (!signIn) {
    await showForm({ ...request, fields: { ...fields, next: '' } }, 'choice');
    return;
  }
  const passkeys = await listOwnPasskeys(call, signIn, relyingParty);
  const isOnThisDevice = render === renderPasskeyOffer;
  const mayAddApp =
    !isOnThisDevice && passkeys.length === 0 && !(await findFactorOwner(call, signIn.userId))?.hasSecondFactor;
  const view = viewLogin(request, signIn.intent);
  const page = render({
    ...view,
    host: relyingParty.rpId,
    passkeys,
    mayAddApp,
    options: createCreationOptions(call, relyingParty, browser, signIn, { passkeys, isOnThisDevice }),
  });
  sendPage(context, 200, { ...page, application: view.application });
}

const LATER_COOKIE = 'usher-passkey';
const LATER_SECONDS = 90 * 24 * 60 * 60;

/** Whether this device can save a passkey, and the person has none and has not declined the offer in the last 90 days. */
export async function isOfferDue(request: LoginContext, relyingParty: RelyingParty): Promise<boolean> {
  const { call, browser, context, fields } = request;
  // The script of the page sends it if the browser can save a passkey on this device.
  if (pickFields(request, 'passkey').passkey !== '1' || readCookie(context, LATER_COOKIE) !== undefined) return false;
  const signIn = await requireRecentSignIn(call, browser, fields);
  return (await listOwnPasskeys(call, signIn, relyingParty)).length === 0;
}

/** Suppresses the offer in this browser for 90 days. */
function postponeOffer({ context, browser }: LoginContext): void {
  setCookie(context, LATER_COOKIE, 'later', LATER_SECONDS, browser.isSecure);
}
