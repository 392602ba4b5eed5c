import type { LoginCode } from '../domain/login/create-login-code.ts';

/** Delivers a code to its user. Rejects if the mail server does not take it. */
export type DeliverCode = (code: LoginCode) => Promise<void>;

/** How long the mail server may take per step. */
const TIMEOUT_MS = 10_000;

/** Sends codes by SMTP. `smtpUrl` is a URL of nodemailer, such as smtps://user:password@host. */
export function createMailer(smtpUrl: string, from: string): DeliverCode {
  const options = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS };
  // Loaded with the first e-mail, since most processes send none.
  const open = async () => (await import('nodemailer')).createTransport({ url: smtpUrl, ...options }, { from });
  let transport: ReturnType<typeof open> | undefined;
  return async ({ email, code, applicationName }) => {
    transport ??= open();
    await (await transport).sendMail({
      to: { name: '', address: email },
      subject: `${code} is your code for ${applicationName}`,
      text: `Your code for ${applicationName} is ${code}. It is good for 10 minutes.

If you did not ask for it, somebody typed your e-mail address by mistake; you need not do anything.
`,
    });
  };
}

/** Prints codes to the terminal, where there is no mail server. */
export function createTerminalMailer(write: (text: string) => void): DeliverCode {
  return async ({ email, code, applicationName }) => {
    write(`\n  E-MAIL to ${email}: ${code} is your code for ${applicationName}\n\n`);
  };
}
