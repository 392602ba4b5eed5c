import { LOGIN_CODE_MINUTES } from '../domain/login/login-code.ts';
import { createMuteLink, type Mail } from './mail.ts';

interface CodeMail extends Pick<Mail, 'to' | 'language' | 'application'> {
  readonly code: string;
  /** The host of the page on which the code is entered. */
  readonly host: string;
  /** The link that mutes the address. */
  readonly muteUrl: string;
}

export function createCodeMail({ code, host, muteUrl, ...envelope }: CodeMail): Mail {
  const { language } = envelope;
  const application = envelope.application.name;
  const duration = language.duration(LOGIN_CODE_MINUTES, 'minute');
  return {
    ...envelope,
    kind: 'login code',
    subject: ['mail.code.subject', { code, application }],
    heading: ['mail.code.title', { application }],
    code: {
      digits: code,
      sentence: ['mail.code.sentence', { code, application }],
      preheader: ['mail.code.preheader', { code, application, duration }],
    },
    paragraphs: [
      ['mail.code.where', { host, duration }],
      ['mail.code.never', { application }],
    ],
    notes: [['mail.code.ignore']],
    link: createMuteLink(language, muteUrl),
  };
}
