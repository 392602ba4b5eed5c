/** The actions of the login page, one per row. */
import { cancelLogin } from '../domain/login/cancel-login.ts';
import { createLoginCode } from '../domain/login/create-login-code.ts';
import { nameNewUser } from '../domain/login/name-new-user.ts';
import { redeemLoginCode } from '../domain/login/redeem-login-code.ts';
import type { Action } from './action.ts';
import { continueAfter } from './leave-signed-in.ts';
import { pickFields } from './login-context.ts';
import type { LoginRequest } from './login-request.ts';
import { mute, showMute, unmute } from './mute.ts';
import { redirectToForm } from './redirect-to-form.ts';
import { sendRedirect } from './responses.ts';
import { sendCodeMail } from './send-code-mail.ts';
import { showForm } from './show-form.ts';

export const ACTIONS: readonly Action[] = [
  { method: 'GET', path: '/login', form: 'choice', run: (request) => showForm(request, 'choice') },
  { method: 'POST', path: '/login/email', needs: 'email', form: 'choice', run: sendCode },
  { method: 'POST', path: '/login/email/again', needs: 'email', form: 'code', run: sendCode },
  { method: 'GET', path: '/login/code', needs: 'email', form: 'code', run: (request) => showForm(request, 'code') },
  { method: 'GET', path: '/login/link', needs: 'email', form: 'link', run: (request) => showForm(request, 'link') },
  { method: 'POST', path: '/login/link', needs: 'email', form: 'link', run: sendCode },
  { method: 'GET', path: '/login/name', needs: 'email', form: 'name', run: (request) => showForm(request, 'name') },
  { method: 'POST', path: '/login/name', needs: 'email', form: 'name', run: nameUser },
  { method: 'POST', path: '/login/code', needs: 'email', form: 'code', run: redeemCode },
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
