/** E-mails that tell users of a change to their account. Somebody else may have caused the change. */
import type { NoticeKind } from '../domain/notices/store-notice.ts';
import type { Mail } from './mail.ts';
import { supportOf } from './support.ts';

/**
 * The texts of each kind of notice. `kind` is the name of the e-mail in the log, `value` the placeholder for what was
 * changed.
 */
const NOTICES = {
  accountDeleted: {
    kind: 'notice of deletion',
    subject: 'mail.accountDeleted.subject',
    text: 'mail.accountDeleted.text',
    notYou: 'mail.walletLinked.notYou',
    value: undefined,
  },
  addressChanged: {
    kind: 'change of address',
    subject: 'mail.addressChanged.subject',
    text: 'mail.addressChanged.text',
    notYou: 'mail.addressChanged.notYou',
    value: 'address',
  },
  // Without a link that undoes the change.
  addressReplaced: {
    kind: 'change of address',
    subject: 'mail.addressChanged.subject',
    text: 'mail.addressChanged.text',
    notYou: 'mail.walletLinked.notYou',
    value: 'address',
  },
  clientAllowed: {
    kind: 'access notice',
    subject: 'mail.clientAllowed.subject',
    text: 'mail.clientAllowed.text',
    notYou: 'mail.newDevice.notYou',
    value: 'client',
  },
  deviceAllowed: {
    kind: 'access notice',
    subject: 'mail.deviceAllowed.subject',
    text: 'mail.deviceAllowed.text',
    notYou: 'mail.newDevice.notYou',
    value: 'client',
  },
  identityLinked: {
    kind: 'identity notice',
    subject: 'mail.identityLinked.subject',
    text: 'mail.identityLinked.text',
    notYou: 'mail.identityLinked.notYou',
    value: 'provider',
  },
  identityRemoved: {
    kind: 'identity notice',
    subject: 'mail.identityRemoved.subject',
    text: 'mail.identityRemoved.text',
    notYou: 'mail.identityLinked.notYou',
    value: 'provider',
  },
  newDevice: {
    kind: 'sign-in notice',
    subject: 'mail.newDevice.subject',
    text: 'mail.newDevice.text',
    notYou: 'mail.newDevice.notYou',
    value: undefined,
  },
  passkeyAdded: {
    kind: 'passkey notice',
    subject: 'mail.passkeyAdded.subject',
    text: 'mail.passkeyAdded.text',
    notYou: 'mail.passkeyAdded.notYou',
    value: 'name',
  },
  passkeyRemoved: {
    kind: 'passkey notice',
    subject: 'mail.passkeyRemoved.subject',
    text: 'mail.passkeyRemoved.text',
    notYou: 'mail.passkeyRemoved.notYou',
    value: 'name',
  },
  walletLinked: {
    kind: 'wallet notice',
    subject: 'mail.walletLinked.subject',
    text: 'mail.walletLinked.text',
    notYou: 'mail.walletLinked.notYou',
    value: 'address',
  },
  walletRemoved: {
    kind: 'wallet notice',
    subject: 'mail.walletRemoved.subject',
    text: 'mail.walletRemoved.text',
    notYou: 'mail.walletLinked.notYou',
    value: 'address',
  },
} as const satisfies Record<Exclude<NoticeKind, 'invitation'>, object>;

export interface Notice extends Pick<Mail, 'to' | 'language' | 'application' | 'link'> {
  /** The host of the login page. */
  readonly host: string;
  /** The instant of the change. */
  readonly at: Date;
  /** What was changed. */
  readonly value: string;
  /** How long the link works. */
  readonly duration?: string;
}

export function createNotice(
  notice: keyof typeof NOTICES,
  { host, at, value, duration = '', ...envelope }: Notice,
): Mail {
  const { kind, subject, text, notYou, value: placeholder } = NOTICES[notice];
  const { language, application } = envelope;
  const named = { host, duration, date: language.date(at), application: application.name };
  const values = { ...named, support: supportOf(application), ...(placeholder && { [placeholder]: value }) };
  return {
    ...envelope,
    kind,
    subject: [subject],
    heading: [subject],
    paragraphs: [[text, values]],
    notes: [[notYou, values]],
  };
}
