import { LOGIN_CODE_MINUTES } from '../../domain/login/login-code.ts';
import type { Mail } from '../../mail/mail.ts';
import { createMuteLink } from '../../mail/mute-link.ts';

interface AddressCodeMail extends Pick<Mail, 'to' | 'language' | 'application'> {
  readonly code: string;
  /** The host of the page on which the code is entered. */
  readonly host: string;
  /** The link that mutes the address. */
  readonly muteUrl: string;
}

/** Returns the e-mail with the code that a change of the address requires. It goes to the new address. */
export function createAddressCodeMail({ code, host, muteUrl, ...envelope }: AddressCodeMail): Mail {
  const duration = envelope.language.duration(LOGIN_CODE_MINUTES, 'minute');
  return {
    ...envelope,
    kind: 'address code',
    subject: ['mail.addressCode.subject', { code }],
    heading: ['mail.addressCode.title'],
    code: {
      digits: code,
      sentence: ['mail.addressCode.sentence', { code }],
      preheader: ['mail.addressCode.preheader', { code, duration }],
    },
    paragraphs: [['mail.code.where', { host, duration }]],
    notes: [['mail.addressCode.ignore']],
    link: createMuteLink(envelope.language, muteUrl),
  };
}
