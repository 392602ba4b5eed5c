/** The page behind the link in the notice of a sign-in in a new place, and of an access that somebody has given. */

import { ServiceError } from '../../domain/core/errors.ts';
import type { DerivedKeys } from '../../domain/crypto/derived-keys.ts';
import { endUserSessions } from '../../domain/lifecycle/end-user-sessions.ts';
import { removeAdded } from '../../domain/lifecycle/remove-added.ts';
import { createNoticeToken, readNoticeToken } from '../../domain/notices/notice-token.ts';
import { followNoticeLink } from '../../domain/users/still-signed-in.ts';
import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import { sendPage } from '../../login-page/pages/responses.ts';
import { renderAccountForm, renderAccountMessage } from './pages/form.ts';
import { type AccountRequest, viewOf } from './request.ts';

/** The most by which the clocks of replicas may differ. */
const CLOCK_SKEW_MS = 60_000;

const PURPOSE = 'end every sign-in';

interface NewSignIn {
  readonly userId: string;
  readonly at: Date;
}

export function createSignInsToken(keys: DerivedKeys, userId: string, at: Date): string {
  return createNoticeToken(keys, PURPOSE, [userId], at);
}

/** Shows a button. To open the link changes nothing, because scanners of e-mails open links. */
export async function showEndSignIns(request: AccountRequest): Promise<void> {
  const { call, own } = request;
  const { t: token } = pickFields(request, 't');
  if (!readSignInsToken(own.keys, token, call.now)) return sendInvalid(request);
  const view = viewOf(request);
  const { language } = view;
  const form = renderAccountForm(view, {
    action: 'sign-ins',
    title: 'account.undo.title',
    text: html`${language.text('account.signIns.text')} ${language.text('account.undo.added')}`,
    fields: html`<input type="hidden" name="t" value="${token}">`,
    submit: 'account.signOutEverywhere',
    isDangerous: true,
  });
  sendPage(request.context, 200, form);
}

export async function endSignIns(request: AccountRequest): Promise<void> {
  const { call, context, own, parts } = request;
  const signIn = readSignInsToken(own.keys, pickFields(request, 't').t, call.now);
  try {
    if (!signIn) throw new ServiceError('USER_NOT_FOUND');
    const { userId, at } = signIn;
    await endUserSessions(await followNoticeLink(call, signIn), { userId });
    await removeAdded(call, { userId, addedSince: new Date(at.getTime() - CLOCK_SKEW_MS) });
    parts.onSignedOut(userId);
    sendPage(context, 200, renderAccountMessage(viewOf(request), 'account.signIns.done', 'account.undo.done.text'));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    sendInvalid(request);
  }
}

function sendInvalid(request: AccountRequest): void {
  const message = renderAccountMessage(viewOf(request), 'account.undo.invalid', 'account.signIns.invalid');
  sendPage(request.context, 200, message);
}

/** Returns whose sign-ins it ends, and when the new one was. */
function readSignInsToken(keys: DerivedKeys, token: string, now: Date): NewSignIn | undefined {
  const read = readNoticeToken(keys, PURPOSE, token, now);
  return read && { userId: read.facts[0] ?? '', at: read.at };
}
