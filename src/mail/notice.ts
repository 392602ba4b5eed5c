/** E-mails about a change to how they sign in, which somebody else may have caused. */
import type { Mail } from './mail.ts';
import { supportOf } from './support.ts';

/** By what has changed. `kind` is what the log calls the e-mail. */
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
  /** Of the login page. */
  readonly host: string;
  readonly at: Date;
  /** What else the texts need. */
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
