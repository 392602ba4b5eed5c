/** The actions of passkeys: signing in, and adding, renaming and removing them after a sign-in. */
import { takeChangePermit } from '../domain/login/change-permits.ts';
import { extendCode } from '../domain/login/extend-code.ts';
import { findRecentSignIn, requireRecentSignIn } from '../domain/login/recent-sign-in.ts';
import { createCreationOptions } from '../domain/passkeys/creation-options.ts';
import { deletePasskey } from '../domain/passkeys/delete-passkey.ts';
import { listOwnPasskeys } from '../domain/passkeys/list-passkeys.ts';
import { redeemPasskey } from '../domain/passkeys/redeem-passkey.ts';
import { renamePasskey } from '../domain/passkeys/rename-passkey.ts';
import { storePasskey } from '../domain/passkeys/store-passkey.ts';
import type { Action, Remark } from './action.ts';
import { leaveSignedIn, postponeOffer } from './leave-signed-in.ts';
import { type LoginRequest, pickFields } from './login-request.ts';
import type { PageContent } from './pages/document.ts';
import { renderPasskeyList } from './pages/passkey-list.ts';
import { renderPasskeyOffer } from './pages/passkey-offer.ts';
import type { PasskeysView } from './pages/view.ts';
import { redirectToForm } from './redirect-to-form.ts';
import { sendPage } from './responses.ts';
import { showForm } from './show-form.ts';
import { viewLogin } from './view-login.ts';

const needs = 'passkey';

export const PASSKEY_ACTIONS: readonly Action[] = [
  { method: 'POST', path: '/login/passkey', needs, form: 'choice', signsIn: true, run: signIn },
  { method: 'GET', path: '/login/passkey/new', needs, form: 'passkey/new', run: showOffer },
  { method: 'POST', path: '/login/passkey/new', needs, form: 'passkey/new', run: add },
  { method: 'POST', path: '/login/passkey/later', needs, form: 'passkey/new', run: postpone },
  { method: 'GET', path: '/login/passkeys', needs, form: 'passkeys', run: showList },
  { method: 'POST', path: '/login/passkeys/name', needs, form: 'passkeys', run: rename },
  { method: 'POST', path: '/login/passkeys/delete', needs, form: 'passkeys', run: remove },
];

async function signIn(request: LoginRequest): Promise<Remark | undefined> {
  const { call, parts, browser, context, fields, logger } = request;
  const { hasSteppedBack, ...completion } = await redeemPasskey(call, parts, browser, {
    ...fields,
    ...pickFields(request, 'credential'),
  });
  await leaveSignedIn(request, completion, { offersPasskey: false });
  if (!hasSteppedBack) return undefined;
  // The authenticator was copied, or counts wrongly, as old ones do. Neither is a reason to lock its owner out.
  logger.warn({ requestId: context.requestId }, 'passkey counter stepped back');
  return { reason: 'PASSKEY_COUNTER_STEPPED_BACK' };
}

async function add(request: LoginRequest): Promise<void> {
  const { call, parts, browser, fields, languages } = request;
  const nameIn = (locale: string | null) => languages.languageFor(locale).text('passkey.defaultName');
  const created = { ...fields, ...pickFields(request, 'credential') };
  await storePasskey(call, parts.relyingParty, browser, created, nameIn);
  await goOn(request);
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

function showOffer(request: LoginRequest): Promise<void> {
  return show(request, renderPasskeyOffer);
}

function showList(request: LoginRequest): Promise<void> {
  return show(request, renderPasskeyList);
}

/** Shows a page to the browser that has signed in. Other browsers get the first page of the login. */
async function show(request: LoginRequest, render: (view: PasskeysView) => PageContent): Promise<void> {
  const { call, browser, context, fields, parts } = request;
  const signIn = await findRecentSignIn(call, browser, fields);
  if (!signIn) {
    await showForm({ ...request, fields: { ...fields, next: '' } }, 'choice');
    return;
  }
  const passkeys = await listOwnPasskeys(call, signIn, parts.relyingParty);
  const isOnThisDevice = render === renderPasskeyOffer;
  const view = viewLogin(request, signIn.intent);
  const page = render({
    ...view,
    host: parts.relyingParty.rpId,
    passkeys,
    options: createCreationOptions(call, parts.relyingParty, browser, signIn, { passkeys, isOnThisDevice }),
  });
  sendPage(context, 200, { ...page, application: view.application });
}
