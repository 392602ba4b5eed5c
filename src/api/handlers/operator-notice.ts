import type { Call } from '../../domain/call.ts';
import { createNotice, type NoticeKind } from '../../mail/notice.ts';
import { ENGLISH } from '../../texts/texts.ts';
import type { ServiceParts } from '../services.ts';

/** E-mails the user what an operator has removed, in English: Usher does not know the user's language. */
export function sendOperatorNotice(
  { authPageUrl, loginMethods, mailer }: Pick<ServiceParts, 'authPageUrl' | 'loginMethods' | 'mailer'>,
  { now }: Call,
  kind: NoticeKind,
  { email, ...values }: { readonly email: string } & Readonly<Record<string, string>>,
): void {
  // Usher has a mail server only where the login page sends codes by e-mail.
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
