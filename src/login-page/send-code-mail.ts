import type { LoginCode } from '../domain/login/create-login-code.ts';
import { createMuteToken } from '../domain/login/muted-addresses.ts';
import { recordSending } from '../domain/login/record-sending.ts';
import { createCodeMail } from '../mail/code-mail.ts';
import type { MailError } from '../mail/mail-error.ts';
import type { LoginRequest } from './login-request.ts';
import { toMailApplication } from './page-application.ts';

/** The limit for the statement that records the result of an e-mail. */
const TIMEOUT_MS = 5_000;

/** Sends the code in the background. For a decoy it does the same work but sends nothing. */
export function sendCodeMail({ call, context, languages, parts }: LoginRequest, code: LoginCode): void {
  const { authPageUrl, codes, database, mailer } = parts;
  const { email, isDecoy, intent, row } = code;
  const language = languages.languageFor(intent.locale);
  const mail = createCodeMail({
    to: email,
    code: code.code,
    language,
    application: toMailApplication(intent, language),
    host: new URL(authPageUrl).host,
    muteUrl: `${authPageUrl}/mute?t=${createMuteToken(codes.keys, email, call.now)}`,
  });
  const onEnd = async (error?: MailError) => {
    // A refusal of this one e-mail is not recorded. A decoy never gets one, so the page would reveal that a user exists.
    if (error && !error.isOfServer) return;
    const run = database.within(performance.now() + TIMEOUT_MS);
    await recordSending({ run }, row, error === undefined);
  };
  mailer.send(mail, { requestId: context.requestId, isDecoy, onEnd });
}
