/** The actions of the login page, one per row. */
import { cancelLogin } from '../domain/login/cancel-login.ts';
import { createLoginCode, type LoginCode } from '../domain/login/create-login-code.ts';
import { createMuteToken, endMute, findMute, muteAddress } from '../domain/login/muted-addresses.ts';
import { nameNewUser } from '../domain/login/name-new-user.ts';
import { recordSending } from '../domain/login/record-sending.ts';
import { redeemLoginCode } from '../domain/login/redeem-login-code.ts';
import { createCodeMail } from '../mail/code-mail.ts';
import type { MailError } from '../mail/mail-error.ts';
import { pickFields } from './offer/login-context.ts';
import { type Action, type LoginRequest, loginPathOf } from './offer/login-request.ts';
import { renderMute } from './pages/mute.ts';
import { toMailApplication } from './pages/page-application.ts';
import { sendPage, sendRedirect } from './pages/responses.ts';
import { continueAfter, redirectToForm } from './redirect-to-form.ts';
import { showForm } from './show-form.ts';

export const ACTIONS: readonly Action[] = [
  { method: 'GET', path: '/login', form: 'choice', run: (request) => showForm(request, 'choice') },
  { method: 'POST', path: '/login/email', needs: 'email', signsInBy: 'email', form: 'choice', run: sendCode },
  { method: 'POST', path: '/login/email/again', needs: 'email', signsInBy: 'email', form: 'code', run: sendCode },
  { method: 'GET', path: '/login/code', needs: 'email', form: 'code', run: (request) => showForm(request, 'code') },
  { method: 'GET', path: '/login/link', needs: 'email', form: 'link', run: (request) => showForm(request, 'link') },
  { method: 'POST', path: '/login/link', needs: 'email', signsInBy: 'email', form: 'link', run: sendCode },
  { method: 'GET', path: '/login/name', needs: 'email', form: 'name', run: (request) => showForm(request, 'name') },
  { method: 'POST', path: '/login/name', needs: 'email', signsInBy: 'email', form: 'name', run: nameUser },
  { method: 'POST', path: '/login/code', needs: 'email', signsInBy: 'email', form: 'code', run: redeemCode },
  {
    method: 'GET',
    path: '/login/closed',
    form: 'closed',
    run: (request) => showForm(request, 'closed'),
  },
  { method: 'GET', path: '/login/refused', form: 'refused', run: (request) => showForm(request, 'refused') },
  { method: 'GET', path: '/login/mute', needs: 'email', form: 'choice', run: showMute },
  { method: 'POST', path: '/login/mute', needs: 'email', form: 'choice', run: mute },
  { method: 'POST', path: '/login/mute/end', needs: 'email', form: 'choice', run: unmute },
  { method: 'POST', path: '/login/cancel', form: 'choice', run: cancel },
];

async function sendCode(request: LoginRequest): Promise<void> {
  const { call, parts, browser, fields } = request;
  const { digits, wait, ...code } = await createLoginCode(call, parts, browser, fields);
  redirectToForm(request, 'code', { figures: { digits, wait } });
  sendCodeMail(request, code);
  if (!code.isUnknown) return;
  call.count?.('refused_sign_ins');
  parts.unknownAddresses.add(code.intent.applicationId, browser.address);
}

async function redeemCode(request: LoginRequest): Promise<void> {
  const { call, parts, browser, fields } = request;
  await continueAfter(
    request,
    await redeemLoginCode(call, parts, browser, { ...fields, ...pickFields(request, 'code') }),
    'name',
  );
}

async function nameUser(request: LoginRequest): Promise<void> {
  const { call, parts, browser, fields } = request;
  const name = pickFields(request, 'name').name.trim();
  await continueAfter(request, await nameNewUser(call, parts, browser, { ...fields, name }));
}

async function cancel(request: LoginRequest): Promise<void> {
  const { call, parts, fields } = request;
  sendRedirect(request.context, (await cancelLogin(call, parts.tokens, fields)).redirectUrl);
}

/** The limit for the statement that records the result of an e-mail. */
const TIMEOUT_MS = 5_000;

/** Sends the code in the background. For a decoy it does the same work but sends nothing. */
function sendCodeMail({ call, context, languages, parts }: LoginRequest, code: LoginCode): void {
  const { authPageUrl, codes, database, mailer } = parts;
  const { email, isDecoy, decoyReason, intent, row } = code;
  const language = languages.languageFor(intent.locale);
  const mail = createCodeMail({
    to: email,
    code: code.code,
    language,
    application: toMailApplication(intent, language),
    host: new URL(authPageUrl).host,
    muteUrl: `${authPageUrl}/mute?t=${createMuteToken(codes.keys, email, call.now)}`,
  });
  const onEnd = async (error?: MailError) => {
    // A refusal of this one e-mail is not recorded. A decoy never gets one, so the page would reveal that a user exists.
    if (error && !error.isOfServer) return;
    const run = database.within(performance.now() + TIMEOUT_MS);
    await recordSending({ run }, row, error === undefined);
  };
  mailer.send(mail, { requestId: context.requestId, isDecoy, decoyReason, onEnd });
}

/**
 * Shows the page behind the link in an e-mail that stops such e-mails for a day, with a button. The page
 * belongs to no login. To open the link changes nothing, because scanners of e-mails open links.
 */
async function showMute(request: LoginRequest): Promise<void> {
  const { call, parts } = request;
  const until = await findMute(call, parts.codes.keys, pickFields(request, 't').t);
  sendMutePage(request, until);
}

function mute(request: LoginRequest): Promise<void> {
  return change(request, muteAddress);
}

function unmute(request: LoginRequest): Promise<void> {
  return change(request, endMute);
}

async function change(request: LoginRequest, verb: typeof muteAddress | typeof endMute): Promise<void> {
  const { context, call, languages, parts } = request;
  const { t } = pickFields(request, 't');
  const isKnown = await verb(call, parts.codes.keys, t);
  const query = new URLSearchParams({
    t,
    ...(languages.chosen && { lang: languages.chosen }),
  });
  if (isKnown) sendRedirect(context, `${pathOf(request)}?${query}`);
  else sendMutePage(request, undefined);
}

function sendMutePage(request: LoginRequest, until: Date | null | undefined): void {
  const { context, call, browser, languages, place } = request;
  const view = {
    language: languages.languageFor(),
    place,
    path: pathOf(request),
    linkToken: pickFields(request, 't').t,
    formToken: browser.formToken,
    now: call.now,
    until,
  };
  sendPage(context, until === undefined ? 404 : 200, renderMute(view));
}

function pathOf({ parts }: LoginRequest): string {
  return `${loginPathOf(parts)}/mute`;
}
