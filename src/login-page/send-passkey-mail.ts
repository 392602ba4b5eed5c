import type { RecentSignIn } from '../domain/passkeys/recent-sign-in.ts';
import { createPasskeyAddedMail, createPasskeyRemovedMail } from '../mail/passkey-mail.ts';
import type { LoginRequest } from './login-request.ts';

const CREATE = { added: createPasskeyAddedMail, removed: createPasskeyRemovedMail };

/** Tells the user in the background that a passkey was added or removed: whoever reads the inbox could have done it. */
export function sendPasskeyMail(
  { context, call, languages, parts }: LoginRequest,
  { email, intent }: RecentSignIn,
  change: keyof typeof CREATE,
  passkeyName: string,
): void {
  // Without codes by e-mail there is no mail server.
  if (!parts.methods.includes('email')) return;
  const mail = CREATE[change]({
    to: email,
    passkeyName,
    language: languages.languageFor(intent.locale),
    application: { name: intent.applicationName, ...intent.branding },
    host: new URL(parts.authPageUrl).host,
    at: call.now,
  });
  parts.mailer.send(mail, { requestId: context.requestId });
}
