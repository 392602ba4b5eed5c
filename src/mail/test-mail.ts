import { ENGLISH } from '../texts/texts.ts';
import type { Mail } from './mail.ts';

/** Returns the e-mail by which an operator tries the mail server. @param host of the public URL */
export function createTestMail(to: string, host: string): Mail {
  return {
    kind: 'test e-mail',
    to,
    language: ENGLISH,
    application: { name: 'Usher' },
    subject: ['mail.test.subject', { host }],
    heading: ['mail.test.subject', { host }],
    paragraphs: [['mail.test.text', { host }]],
    notes: [],
  };
}
