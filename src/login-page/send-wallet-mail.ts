import type { LinkedWallet } from '../domain/login/complete-email-login.ts';
import { createWalletMail } from '../mail/wallet-mail.ts';
import type { LoginRequest } from './login-request.ts';

/** Tells the user in the background that a wallet can sign in as them from now on. */
export function sendWalletMail({ context, call, languages, parts }: LoginRequest, linked: LinkedWallet): void {
  const { intent, email, walletAddress } = linked;
  const mail = createWalletMail({
    to: email,
    walletAddress,
    language: languages.languageFor(intent.locale),
    application: { name: intent.applicationName, ...intent.branding },
    host: new URL(parts.authPageUrl).host,
    at: call.now,
  });
  parts.mailer.send(mail, { requestId: context.requestId });
}
