import { createCodeMail } from '../../src/mail/code-mail.ts';
import type { Mail, MailApplication } from '../../src/mail/mail.ts';
import { ENGLISH } from '../../src/texts/texts.ts';

export const MUTE_URL = `https://login.example.com/login/mute?t=${'x'.repeat(32)}`;

/** Returns the e-mail with the code 048151 of an application, to ada@example.com. */
export function createTestMail({
  application = { name: 'Shop' },
  language = ENGLISH,
}: {
  application?: MailApplication;
  language?: Mail['language'];
} = {}): Mail {
  return createCodeMail({
    to: 'ada@example.com',
    code: '048151',
    language,
    application,
    host: 'login.example.com',
    muteUrl: MUTE_URL,
  });
}
