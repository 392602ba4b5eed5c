/** The actions of the account page, one per row. */
import { showEmail, toEmailKey } from '../../config/email-address.ts';
import { listAccountSessions } from '../../domain/grants/list-account-sessions.ts';
import { eraseUser } from '../../domain/lifecycle/end-user.ts';
import { endUserSessions } from '../../domain/lifecycle/end-user-sessions.ts';
import { readAccountRow } from '../../domain/notices/notice-row.ts';
import { listUserAccess, mayEnter } from '../../domain/users/list-user-access.ts';
import { updateUser } from '../../domain/users/update-user.ts';
import { send } from '../../http/exchange.ts';
import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Account, AccountSection } from '../../login-page/offer/page-offer.ts';
import { ADDRESS_FIELD } from '../../login-page/pages/parts.ts';
import { sendPage } from '../../login-page/pages/responses.ts';
import type { TextKey } from '../../texts/texts.ts';
import { redeemAddressCode, sendAddressCode, showAddress, showAddressCode, UNDO_ACTIONS } from './address.ts';
import { removeAccountCookie } from './cookie.ts';
import { endAccountSession } from './domain/end-account-session.ts';
import { exportAccount, selectOwnGroups } from './domain/export-account.ts';
import { beginAccountLogin, finishAccountLogin, signOut } from './login.ts';
import { renderAccount } from './pages/account.ts';
import { renderAccountForm, renderAccountMessage, renderAccountSignIn } from './pages/form.ts';
import { RECOVER_ACTIONS } from './recover.ts';
import {
  type AccountAction,
  type AccountRequest,
  changing,
  readAccount,
  redirect,
  signedIn,
  viewOf,
} from './request.ts';
import { SIGN_IN_ACTIONS } from './sign-ins.ts';
import { STOP_ACTIONS } from './stop.ts';

/** @param sections what all parts add to the page and to the export */
export const createAccountActions = (sections: readonly AccountSection[]): readonly AccountAction[] => [
  { method: 'GET', path: '/account', form: 'choice', run: (request) => showAccount(request, sections) },
  { method: 'POST', path: '/account/login', form: 'choice', run: beginAccountLogin },
  { method: 'GET', path: '/account/return', form: 'choice', run: finishAccountLogin },
  { method: 'POST', path: '/account/logout', form: 'choice', run: signOut },
  { method: 'GET', path: '/account/name', form: 'choice', run: signedIn(showName) },
  { method: 'POST', path: '/account/name', form: 'choice', run: changing('name', changeName) },
  { method: 'GET', path: '/account/email', needs: 'email', form: 'choice', run: signedIn(showAddress) },
  { method: 'POST', path: '/account/email', needs: 'email', form: 'choice', run: changing('email', sendAddressCode) },
  { method: 'GET', path: '/account/email/code', needs: 'email', form: 'choice', run: signedIn(showAddressCode) },
  {
    method: 'POST',
    path: '/account/email/code',
    needs: 'email',
    form: 'choice',
    run: changing('email/code', redeemAddressCode),
  },
  ...UNDO_ACTIONS,
  ...SIGN_IN_ACTIONS,
  ...STOP_ACTIONS,
  ...RECOVER_ACTIONS,
  { method: 'POST', path: '/account/sessions/end', form: 'choice', run: changing('', endSession) },
  { method: 'POST', path: '/account/sessions/end-all', form: 'choice', run: changing('', endSessions) },
  {
    method: 'GET',
    path: '/account/data',
    form: 'choice',
    run: signedIn((request, account) => sendData(request, account, sections)),
  },
  { method: 'GET', path: '/account/delete', form: 'choice', run: signedIn(showDelete) },
  { method: 'POST', path: '/account/delete', form: 'choice', run: changing('delete', deleteAccount) },
];

/** The texts that confirm a change, by the value of `done` in the query. */
const NOTES: Readonly<Record<string, TextKey>> = {
  name: 'account.note.name',
  email: 'account.note.email',
  session: 'account.note.session',
  sessions: 'account.note.sessions',
};

async function showAccount(request: AccountRequest, sections: readonly AccountSection[]): Promise<void> {
  const { browser, context, call, own, parts } = request;
  const view = viewOf(request);
  const account = await readAccount(request);
  const notes: ReadonlyMap<string, TextKey> = new Map(
    [NOTES, ...sections.map((section) => section.notes ?? {})].flatMap((each) => Object.entries(each)),
  );
  const row = readAccountRow(pickFields(request, 'row').row);
  const done = notes.get(pickFields(request, 'done').done);
  const note = done ? view.language.text(done) : '';
  if (!account) return sendPage(context, 200, renderAccountSignIn(view, note, row));
  if (row) return redirect(request, `#${row}`);
  const { isFresh, user } = account;
  const [sessions, groups, access, ...shown] = await Promise.all([
    listAccountSessions(call, user.id),
    call.run(selectOwnGroups, { userId: user.id }),
    listUserAccess(call, user.id),
    ...sections.map((section) => section.show?.(request, view, user) ?? {}),
  ]);
  const page = renderAccount({
    ...view,
    user,
    groups: groups.map(({ name, displayName }) => displayName ?? name),
    applications: access.filter(mayEnter),
    sessions,
    sections: shown,
    browserDigest: browser.digest,
    providers: parts.providers,
    note,
    isFresh,
    mayDelete: own.allowDeletion,
    hasEmail: parts.methods.includes('email'),
  });
  sendPage(context, 200, page);
}

async function showName(request: AccountRequest, { user }: Account): Promise<void> {
  const view = viewOf(request);
  const label = view.language.text('account.name');
  const fields = html`<label for="name">${label}</label>
<input id="name" name="name" dir="auto" autocomplete="name" required maxlength="255" value="${user.name ?? ''}">`;
  const form = { action: 'name', title: 'account.name.title', fields, submit: 'account.save' } as const;
  sendPage(request.context, 200, renderAccountForm(view, form));
}

async function changeName(request: AccountRequest, { user }: Account): Promise<void> {
  const name = pickFields(request, 'name').name.trim();
  await updateUser(request.call, { userId: user.id, name });
  redirect(request, '', { done: 'name' });
}

async function endSession(request: AccountRequest, { user }: Account): Promise<void> {
  const { browser, call, parts } = request;
  const { application: applicationId, sid } = pickFields(request, 'application', 'sid');
  await endAccountSession(call, { userId: user.id, applicationId, sid, browser });
  parts.onSignedOut(user.id);
  redirect(request, '', { done: 'session' });
}

/** Also ends this sign-in to the account page. */
async function endSessions(request: AccountRequest, { user }: Account): Promise<void> {
  await endUserSessions(request.call, { userId: user.id });
  request.parts.onSignedOut(user.id);
  removeAccountCookie(request.context, request.browser);
  redirect(request, '', { done: 'sessions' });
}

async function sendData(
  { context, call }: AccountRequest,
  { user }: Account,
  sections: readonly AccountSection[],
): Promise<void> {
  send(context, 200, `${JSON.stringify(await exportAccount(call, user, sections), undefined, 2)}\n`, {
    'content-type': 'application/json',
    'content-disposition': 'attachment; filename="account.json"',
    'x-content-type-options': 'nosniff',
  });
}

async function showDelete(request: AccountRequest, { user }: Account): Promise<void> {
  const { context, own } = request;
  if (!own.allowDeletion) return redirect(request, '');
  const view = viewOf(request);
  const { language } = view;
  const text = language.html('account.delete.confirm', { email: showEmail(user.email) });
  const fields = html`<label for="email">${language.text('account.email')}</label>
<input id="email" name="email" ${ADDRESS_FIELD} autocomplete="off">`;
  const form = { action: 'delete', title: 'account.delete', text, fields, submit: 'account.delete.submit' } as const;
  sendPage(context, 200, renderAccountForm(view, { ...form, isDangerous: true }));
}

async function deleteAccount(request: AccountRequest, { user }: Account): Promise<void> {
  const { context, call, browser, fields, own, parts } = request;
  if (!own.allowDeletion) return redirect(request, '');
  if (toEmailKey(fields.email) !== toEmailKey(user.email)) {
    return redirect(request, '/delete', { problem: 'WRONG_ADDRESS' });
  }
  await eraseUser(call, { userId: user.id });
  parts.onSignedOut(user.id);
  removeAccountCookie(context, browser);
  sendPage(context, 200, renderAccountMessage(viewOf(request), 'account.deleted', 'account.deleted.text'));
}
