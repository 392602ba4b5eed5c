/**
 * The way back into an account by the link of an operator and a spoken code. To open the link changes nothing, because
 * previews and scanners open links: the first change is that of the last button.
 */
import { hasReason, ServiceError } from '../../domain/core/errors.ts';
import { selectIdentities } from '../../domain/identities/list-identities.ts';
import { findLoginIntent } from '../../domain/login/login-intent.ts';
import { returnNetworkPermits, type SharedLimit, takeNetworkPermits } from '../../domain/login/rate-limit.ts';
import { readLoginCode } from '../../domain/login/read-login-code.ts';
import { findRecentSignIn } from '../../domain/login/recent-sign-in.ts';
import { selectPasskeys } from '../../domain/passkeys/list-passkeys.ts';
import { createFormNonce, keepAnswer } from '../../login-page/browser/browser-cookie.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import { alertFor, alertKeyOf } from '../../login-page/pages/alerts.ts';
import { sendErrorPage, sendPage } from '../../login-page/pages/responses.ts';
import { redirectToForm, SECOND_STEP } from '../../login-page/redirect-to-form.ts';
import { sendAddressMail } from './address.ts';
import { ACCOUNT_CLIENT_ID } from './domain/account-application.ts';
import { createAddressCode, findNewAddress, requireAddressCode } from './domain/change-address.ts';
import { findRecovery, findUsedRecovery, type Recovery, requireSpokenCode } from './domain/find-recovery.ts';
import { useRecovery } from './domain/use-recovery.ts';
import {
  type Losses,
  type RecoverView,
  renderAddressCode,
  renderConfirm,
  renderDeadLink,
  renderDigits,
  renderEarlyLink,
  renderLinkForm,
  renderNewAddress,
  renderRecovered,
} from './pages/recover.ts';
import { type AccountAction, type AccountRequest, accountUrlOf, viewOf } from './request.ts';

/** Tries that open nothing. A right link, and a right code, give their permits back. */
const TRIES: SharedLimit = {
  subject: 'recovery links',
  perNetwork: { burst: 10, intervalMs: 6 * 60_000 },
  perSite: { burst: 50, intervalMs: 72_000 },
};

export const RECOVER_ACTIONS: readonly AccountAction[] = [
  { method: 'GET', path: '/recover', form: 'choice', run: showLink },
  { method: 'POST', path: '/recover', form: 'choice', run: (request) => withLink(request, askForDigits) },
  { method: 'POST', path: '/recover/code', form: 'choice', run: (request) => withCode(request, takeDigits) },
  { method: 'POST', path: '/recover/address', form: 'choice', run: (request) => withCode(request, sendAddressCode) },
  { method: 'POST', path: '/recover/address/code', form: 'choice', run: (request) => withCode(request, proveAddress) },
  { method: 'POST', path: '/recover/use', form: 'choice', run: (request) => withCode(request, use) },
];

type Step = (request: AccountRequest, link: Recovery) => Promise<void>;

async function showLink(request: AccountRequest): Promise<void> {
  sendPage(request.context, 200, renderLinkForm(recoverViewOf(request)));
}

async function askForDigits(request: AccountRequest): Promise<void> {
  sendPage(request.context, 200, renderDigits(recoverViewOf(request, ['link'])));
}

async function takeDigits(request: AccountRequest, link: Recovery): Promise<void> {
  if (!link.removes.includes('ADDRESS')) return confirm(request, link, null);
  sendPage(request.context, 200, renderNewAddress(recoverViewOf(request, ['link', 'code'])));
}

/** Sends a code to the new address. The page is the same if nobody may take it. */
async function sendAddressCode(request: AccountRequest, { id, userId }: Recovery): Promise<void> {
  const { call, browser, context, fields, own, parts } = request;
  try {
    const isRefused = own.isOperator(fields.email);
    const change = { userId, of: id, isRefused };
    const created = await createAddressCode(call, parts.codes, browser, change, fields);
    const view = recoverViewOf(request, ['link', 'code']);
    const entered = { ...view.entered, change: created.changeId };
    sendPage(context, 200, renderAddressCode({ ...view, entered }, created.email));
    sendAddressMail(request, created);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    askAgain(request, error);
  }
}

function askAgain(request: AccountRequest, error: ServiceError): void {
  const view = recoverViewOf(request, ['link', 'code']);
  sendPage(request.context, 422, renderNewAddress({ ...view, alert: alertOf(request, error) }));
}

async function proveAddress(request: AccountRequest, link: Recovery): Promise<void> {
  const proved = await readNewAddress(request, link);
  if (proved !== undefined) await confirm(request, link, proved);
}

/** Returns the address that the entered code proves. Undefined if a page has been sent that asks again. */
async function readNewAddress(request: AccountRequest, { id, userId }: Recovery): Promise<string | undefined> {
  const { call, browser, context, parts } = request;
  const { change: changeId, proof: code } = pickFields(request, 'change', 'proof');
  try {
    return await requireAddressCode(call, parts.codes, browser, { userId, of: id }, { changeId, code });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const email = await findNewAddress(call, browser, id, changeId);
    const view = { ...recoverViewOf(request, ['link', 'code', 'change']), alert: alertOf(request, error) };
    if (!email || error.reason === 'CODE_NOT_VALID') askAgain(request, error);
    else sendPage(context, 422, renderAddressCode(view, email));
    return undefined;
  }
}

async function confirm(request: AccountRequest, link: Recovery, newEmail: string | null): Promise<void> {
  const { call, context, parts } = request;
  const { userId, removes, name, email, walletAddress } = link;
  const [passkeys, identities] = await Promise.all([
    removes.includes('PASSKEYS') ? call.run(selectPasskeys, { userId }) : [],
    removes.includes('IDENTITIES') ? call.run(selectIdentities, { userId }) : [],
  ]);
  const losses: Losses = {
    isNew: removes.length === 0,
    name,
    newEmail,
    email: newEmail === null ? null : email,
    passkeys: passkeys.map((passkey) => passkey.name),
    providers: identities.map(({ provider }) => parts.providers.nameOf(provider) || provider),
    walletAddress: removes.includes('WALLET') ? walletAddress : null,
  };
  sendPage(context, 200, renderConfirm(recoverViewOf(request, FIELDS), losses, createFormNonce()));
}

async function use(request: AccountRequest, link: Recovery): Promise<void> {
  const { browser, call, parts } = request;
  const newEmail = link.removes.includes('ADDRESS') ? await readNewAddress(request, link) : null;
  if (newEmail === undefined) return;
  const isHeld = await useRecovery(call, { link, newEmail, browser, accountUrl: accountUrlOf(parts.authPageUrl) });
  parts.onSignedOut(link.userId);
  if (!isHeld) keepAnswer(request);
  goOn(request, link.id, isHeld);
}

/** Leads to the passkeys of the account, by the second step if it is due, or says that the person can sign in again. */
function goOn(request: AccountRequest, loginIntentId: string, isHeld: boolean): void {
  const { parts } = request;
  const login = { ...request.fields, loginIntentId, clientId: ACCOUNT_CLIENT_ID, next: 'passkeys', email: '' };
  const following = { ...request, fields: login };
  const page = parts.signInWays.findWantedPage(following);
  if (page === undefined) sendPage(request.context, 200, renderRecovered(recoverViewOf(request)));
  else redirectToForm(following, isHeld ? SECOND_STEP : page);
}

/** Runs the step if the token is that of an open link which works now. All others get one page. */
async function withLink(request: AccountRequest, step: Step): Promise<void> {
  const { browser, call, context, own, parts } = request;
  if (!(await takeNetworkPermits(call, parts.codes, browser.address, TRIES))) {
    return sendErrorPage(context, 'too-many-codes', viewOf(request));
  }
  try {
    const link = await findRecovery(call, { keys: parts.codes.keys, isOperator: own.isOperator }, readToken(request));
    if (link.usableAt > call.now) sendPage(context, 200, renderEarlyLink(recoverViewOf(request), link.usableAt));
    else await step(request, link);
    await returnNetworkPermits(call, parts.codes, browser.address, TRIES);
  } catch (error) {
    if (hasReason(error, 'WRONG_CODE')) return sendWrongDigits(request, error.figures.left);
    if (hasReason(error, 'USER_ALREADY_EXISTS')) return askAgain(request, error);
    if (!hasReason(error, 'RECOVERY_LINK_NOT_VALID')) throw error;
    if (!(await isRepeated(request))) sendPage(context, 404, renderDeadLink(recoverViewOf(request)));
  }
}

/** The same with the spoken code, which each form after the first has. */
async function withCode(request: AccountRequest, step: Step): Promise<void> {
  const code = readLoginCode(pickFields(request, 'code').code);
  // What is no code costs no attempt.
  if (code.length !== 8) return withLink(request, async () => sendWrongDigits(request));
  await withLink(request, async (_, link) => {
    await requireSpokenCode(request.call, request.parts.codes, link, code);
    await step(request, link);
  });
}

/** Answers a double click on the last button: this browser has just used the link by the same form. */
async function isRepeated(request: AccountRequest): Promise<boolean> {
  const { browser, call } = request;
  const used = pickFields(request, 'once').once && (await findUsedRecovery(call, readToken(request)));
  const intent = used ? await findLoginIntent(call, used) : undefined;
  if (!intent?.browserDigest?.equals(browser.digest)) return false;
  const isHeld = intent.completedAt === null;
  if (!isHeld && !(await findRecentSignIn(call, browser, { loginIntentId: intent.id }))) return false;
  if (intent.answerDigest?.equals(browser.answerDigest)) keepAnswer(request);
  goOn(request, intent.id, isHeld);
  return true;
}

function sendWrongDigits(request: AccountRequest, left?: number): void {
  const view = recoverViewOf(request, ['link']);
  const { language } = view;
  const alert = left ? language.text('recover.digits.wrong', { count: left }) : language.text('recover.digits.title');
  sendPage(request.context, 422, renderDigits({ ...view, alert }));
}

/** Returns the token, also of a link that was pasted as a whole. */
function readToken(request: AccountRequest): string {
  return pickFields(request, 'link').link.trim().replace(/^.*#/s, '');
}

const FIELDS = ['link', 'code', 'change', 'proof'] as const;

/** @param kept the fields that the forms of the page send again */
function recoverViewOf(request: AccountRequest, kept: readonly (typeof FIELDS)[number][] = []): RecoverView {
  const recoverPath = new URL(request.parts.authPageUrl).pathname.replace(/\/login$/, '/recover');
  return { ...viewOf(request), recoverPath, entered: pickFields(request, ...kept) };
}

function alertOf(request: AccountRequest, error: ServiceError): string {
  const { language } = viewOf(request);
  return alertFor(alertKeyOf(error), language, error.figures);
}
