import type { Call } from '../../domain/call.ts';
import type { RemovedPasskey } from '../../domain/passkeys/delete-passkey.ts';
import { createNotice } from '../../mail/notice.ts';
import { ENGLISH } from '../../texts/texts.ts';
import type { ServiceParts } from '../services.ts';

/** Tells the user in the background that an operator has removed a passkey. Usher does not know the user's language. */
export function sendPasskeyNotice(
  { authPageUrl, loginMethods, mailer }: Pick<ServiceParts, 'authPageUrl' | 'loginMethods' | 'mailer'>,
  { now }: Call,
  { email, name }: RemovedPasskey,
): void {
  // Without codes by e-mail there is no mail server.
  if (!loginMethods.includes('email')) return;
  const notice = createNotice('passkeyRemoved', {
    to: email,
    language: ENGLISH,
    application: { name: ENGLISH.text('account.title') },
    host: new URL(authPageUrl).host,
    at: now,
    values: { name },
  });
  mailer.send(notice, { requestId: '' });
}
