import type { Call } from '../../domain/call.ts';
import { createNotice, type NoticeKind } from '../../mail/notice.ts';
import { ENGLISH } from '../../texts/texts.ts';
import type { ServiceParts } from '../services.ts';

/** Tells the user in the background what an operator has removed. Usher does not know the user's language. */
export function sendOperatorNotice(
  { authPageUrl, loginMethods, mailer }: Pick<ServiceParts, 'authPageUrl' | 'loginMethods' | 'mailer'>,
  { now }: Call,
  kind: NoticeKind,
  { email, ...values }: { readonly email: string } & Readonly<Record<string, string>>,
): void {
  // Without codes by e-mail there is no mail server.
  if (!loginMethods.includes('email')) return;
  const notice = createNotice(kind, {
    to: email,
    language: ENGLISH,
    application: { name: ENGLISH.text('account.title') },
    host: new URL(authPageUrl).host,
    at: now,
    values,
  });
  mailer.send(notice, { requestId: '' });
}
