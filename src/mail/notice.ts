/** E-mails that tell users of a change to their ways to sign in. Somebody else may have caused the change. */
import type { Mail } from './mail.ts';
import { supportOf } from './support.ts';

/** The texts of each kind of notice. `kind` is the name of the e-mail in the log. */
const NOTICES = {
  addressChanged: {
    kind: 'change of address',
    subject: 'mail.addressChanged.subject',
    text: 'mail.addressChanged.text',
    notYou: 'mail.addressChanged.notYou',
  },
  identityLinked: {
    kind: 'identity notice',
    subject: 'mail.identityLinked.subject',
    text: 'mail.identityLinked.text',
    notYou: 'mail.identityLinked.notYou',
  },
  identityRemoved: {
    kind: 'identity notice',
    subject: 'mail.identityRemoved.subject',
    text: 'mail.identityRemoved.text',
    notYou: 'mail.identityLinked.notYou',
  },
  passkeyAdded: {
    kind: 'passkey notice',
    subject: 'mail.passkeyAdded.subject',
    text: 'mail.passkeyAdded.text',
    notYou: 'mail.passkeyAdded.notYou',
  },
  passkeyRemoved: {
    kind: 'passkey notice',
    subject: 'mail.passkeyRemoved.subject',
    text: 'mail.passkeyRemoved.text',
    notYou: 'mail.passkeyRemoved.notYou',
  },
  walletLinked: {
    kind: 'wallet notice',
    subject: 'mail.walletLinked.subject',
    text: 'mail.walletLinked.text',
    notYou: 'mail.walletLinked.notYou',
  },
} as const;

export type NoticeKind = keyof typeof NOTICES;

export interface Notice extends Pick<Mail, 'to' | 'language' | 'application' | 'link'> {
  /** The host of the login page. */
  readonly host: string;
  /** The instant of the change. */
  readonly at: Date;
  /** Values for other placeholders of the texts. */
  readonly values: Readonly<Record<string, string>>;
}

export function createNotice(notice: NoticeKind, { host, at, values, ...envelope }: Notice): Mail {
  const { kind, subject, text, notYou } = NOTICES[notice];
  const { language, application } = envelope;
  const support = supportOf(application);
  const all = { ...values, host, date: language.date(at), application: application.name, support };
  return {
    ...envelope,
    kind,
    subject: [subject],
    heading: [subject],
    paragraphs: [[text, all]],
    notes: [[notYou, all]],
  };
}
