import type { EmailLoginParts } from '../domain/login/complete-email-login.ts';
import type { LoginIntent } from '../domain/login/login-intent.ts';
import { createNotice, type NoticeKind } from '../mail/notice.ts';
import type { LoginRequest } from './login-request.ts';
import { toMailApplication } from './page-application.ts';

/** Sends the user a notice of a change, in the background: somebody who reads their e-mails could have made it. */
export function sendNotice(
  { context, call, languages, parts }: LoginRequest,
  kind: NoticeKind,
  { email, intent }: { readonly email: string; readonly intent: LoginIntent },
  values: Readonly<Record<string, string>>,
): void {
  // Without codes by e-mail there is no mail server.
  if (!parts.methods.includes('email')) return;
  const language = languages.languageFor(intent.locale);
  const notice = createNotice(kind, {
    to: email,
    language,
    application: toMailApplication(intent, language),
    host: new URL(parts.authPageUrl).host,
    at: call.now,
    values,
  });
  parts.mailer.send(notice, { requestId: context.requestId });
}

/** Returns the callbacks that send a notice when a wallet or an identity is linked to a user who existed before. */
export function createLinkNotices(request: LoginRequest): Pick<EmailLoginParts, 'onIdentityLinked' | 'onWalletLinked'> {
  return {
    onWalletLinked: (linked) => sendNotice(request, 'walletLinked', linked, { address: linked.walletAddress }),
    onIdentityLinked: (linked) =>
      sendNotice(request, 'identityLinked', linked, { provider: request.parts.providers.nameOf(linked.provider) }),
  };
}
