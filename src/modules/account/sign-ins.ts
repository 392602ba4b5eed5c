/** The link in the notice of a sign-in in a new place, and of an access that somebody has given. */

import type { DerivedKeys } from '../../domain/crypto/derived-keys.ts';
import { endUserSessions } from '../../domain/lifecycle/end-user-sessions.ts';
import { removeAdded } from '../../domain/lifecycle/remove-added.ts';
import { createNoticeToken, readNoticeToken } from '../../domain/notices/notice-token.ts';
import { followNoticeLink } from '../../domain/users/still-signed-in.ts';
import { html } from '../../http/html.ts';
import { createNoticeLinkActions } from './notice-link.ts';
import type { AccountRequest } from './request.ts';

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

export const SIGN_IN_ACTIONS = createNoticeLinkActions({
  path: 'sign-ins',
  read: ({ call, own }: AccountRequest, token) => readSignInsToken(own.keys, token, call.now),
  text: (language) => html`${language.text('account.signIns.text')} ${language.text('account.undo.added')}`,
  submit: 'account.signOutEverywhere',
  isDangerous: true,
  async follow({ call, parts }, signIn) {
    const { userId, at } = signIn;
    await endUserSessions(await followNoticeLink(call, signIn), { userId });
    await removeAdded(call, { userId, addedSince: new Date(at.getTime() - CLOCK_SKEW_MS) });
    parts.onSignedOut(userId);
  },
  done: ['account.signIns.done', 'account.undo.done.text'],
  invalid: 'account.signIns.invalid',
});

/** Returns whose sign-ins it ends, and when the new one was. */
function readSignInsToken(keys: DerivedKeys, token: string, now: Date): NewSignIn | undefined {
  const read = readNoticeToken(keys, PURPOSE, token, now);
  return read && { userId: read.facts[0] ?? '', at: read.at };
}
