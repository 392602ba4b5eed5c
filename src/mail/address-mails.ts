/** E-mails about the change of an address. */
import type { Mail } from './mail.ts';

type Envelope = Pick<Mail, 'to' | 'language' | 'application'> & {
  /** Of the login page. */
  readonly host: string;
};

/** Minutes for which a code is valid. */
const MINUTES = 10;
/** For which the old address can be brought back. */
const UNDO_DAYS = 7;

/** Returns the e-mail with the code, which goes to the new address. */
export function createAddressCodeMail({ code, host, ...envelope }: Envelope & { readonly code: string }): Mail {
  const duration = envelope.language.duration(MINUTES, 'minute');
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
  };
}

/** Returns the notice that goes to the old address. */
export function createAddressChangedMail({
  address,
  host,
  undoUrl,
  ...envelope
}: Envelope & { readonly address: string; readonly undoUrl: string }): Mail {
  return {
    ...envelope,
    kind: 'change of address',
    subject: ['mail.addressChanged.subject'],
    heading: ['mail.addressChanged.subject'],
    paragraphs: [['mail.addressChanged.text', { host, address }]],
    notes: [['mail.addressChanged.notYou', { duration: envelope.language.duration(UNDO_DAYS, 'day') }]],
    link: { text: ['mail.addressChanged.undo'], url: undoUrl },
  };
}
