import type { LoginCode } from '../domain/login/create-login-code.ts';

/**
 * Sends a code to its user. For a decoy it does the same work but sends nothing. Rejects if the mail server refuses the
 * e-mail.
 */
export type SendCode = (code: LoginCode) => Promise<void>;

/** How long the mail server may take per step. */
const TIMEOUT_MS = 10_000;

/** Without SMTP settings, codes are printed to the terminal. */
export function createCodeSender(smtp: { readonly url: string; readonly from: string } | undefined): SendCode {
  return smtp ? createSmtpSender(smtp.url, smtp.from) : printCode;
}

/** `smtpUrl` is a URL of nodemailer, such as smtps://user:password@host. */
export function createSmtpSender(smtpUrl: string, from: string): SendCode {
  const timeouts = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS };
  // Loaded with the first e-mail, since most processes send none.
  const open = async () => {
    const { createTransport } = await import('nodemailer');
    return {
      smtp: createTransport({ url: smtpUrl, ...timeouts }, { from }),
      discard: createTransport({ streamTransport: true, buffer: true }, { from }),
    };
  };
  let transports: ReturnType<typeof open> | undefined;
  return async (code) => {
    transports ??= open();
    const { smtp, discard } = await transports;
    if (!code.isDecoy) return void (await smtp.sendMail(composeEmail(code)));
    // The expensive steps are connecting, with TLS handshake and authentication, and composing the e-mail.
    await smtp.verify();
    await discard.sendMail(composeEmail(code));
  };
}

function composeEmail({ email, code, applicationName }: LoginCode) {
  return {
    to: { name: '', address: email },
    subject: `${code} is your code for ${applicationName}`,
    text: `Your code for ${applicationName} is ${code}. It is good for 10 minutes.

If you did not ask for it, somebody typed your e-mail address by mistake; you need not do anything.
`,
  };
}

async function printCode({ email, isDecoy, code, applicationName }: LoginCode): Promise<void> {
  if (!isDecoy) process.stdout.write(`\n  E-MAIL to ${email}: ${code} is your code for ${applicationName}\n\n`);
}
