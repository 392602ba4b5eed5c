/** E-mails that tell users of a change to their account. Somebody else may have caused the change. */
import { showEmail } from '../config/email-address.ts';
import { ACCOUNT_APPLICATION_ID } from '../domain/core/own-applications.ts';
import type { LoginCodeKeys } from '../domain/login/login-code.ts';
import { createMuteToken } from '../domain/login/muted-addresses.ts';
import { type DueNotice, LINK_DAYS, type NoticeLinks } from '../domain/notices/due-notices.ts';
import { findNoticeRow } from '../domain/notices/notice-row.ts';
import type { NoticeKind } from '../domain/notices/store-notice.ts';
import { ENGLISH, LANGUAGES, type Language, type TextKey } from '../texts/texts.ts';
import { createMuteLink, type Mail, supportOf } from './mail.ts';

const NOT_ME = ['mail.addressChanged.undo'] as const;
const SHOW = ['mail.show'] as const;
const STOP = ['account.recovery.submit'] as const;

export interface ComposeParts {
  /** The URL of the login page. That of the account page is next to it. */
  readonly authPageUrl: string;
  readonly clock: () => Date;
  readonly hasAccountPage: boolean;
  /** The keys of links that mute an address. */
  readonly codeKeys: LoginCodeKeys;
  /** Whether Usher has the page that mutes an address. */
  readonly hasMutePage: boolean;
  /** The links of modules. */
  readonly noticeLinks: NoticeLinks;
  readonly providers: { nameOf(providerId: string): string };
}

/** Returns the e-mail of a stored notice. Its link is made now, so that the database has none. */
export function composeNotice(
  { kind, userId, recipient: to, value, changedAt: at, ...row }: Omit<DueNotice, 'attempts' | 'expiresAt'>,
  parts: ComposeParts,
): Mail {
  const { authPageUrl, hasAccountPage, noticeLinks, providers } = parts;
  const language = LANGUAGES.get(row.language) ?? ENGLISH;
  const { host } = new URL(authPageUrl);
  if (kind === 'invitation') return invite(row, parts, { to, language, expiresAt: new Date(value) });
  const path = noticeLinks[kind]?.({ id: row.id, userId, recipient: to, value, changedAt: at });
  const accountUrl = authPageUrl.replace(/\/login$/, '/account');
  const url = path && accountUrl + path;
  const shown = hasAccountPage && findNoticeRow({ id: row.id, kind, value, changedAt: at });
  const action = shown && { action: { text: SHOW, url: `${accountUrl}?row=${shown}` } };
  const duration = language.duration(LINK_DAYS, 'day');
  const text = kind === 'recoveryStarted' ? STOP : NOT_ME;
  const undo = url ? { link: { text, url }, duration } : {};
  const notice = { to, language, application: toApplication(row, language), host, at, value, ...undo, ...action };
  switch (kind) {
    case 'identityLinked':
    case 'identityRemoved':
      return createNotice(kind, { ...notice, value: providers.nameOf(value) || value });
    case 'addressChanged':
    case 'addressReplaced':
      return createNotice(url ? kind : 'addressReplaced', { ...notice, value: showEmail(value) });
    case 'recovered':
    case 'recoveredFormer':
      return createNotice('recovered', { ...notice, value: listLost(language, value) });
    default:
      return createNotice(kind, notice);
  }
}

/** @param removals names of `REMOVALS`, comma-separated */
function listLost(language: Language, removals: string): string {
  const lost = removals.split(',').flatMap((removal) => LOST.get(removal) ?? []);
  const names = (lost.length > 0 ? lost : (['mail.recovered.nothing'] as const)).map((key) => language.text(key));
  return new Intl.ListFormat(language.tag, { type: 'conjunction' }).format(names);
}

/** The texts of what was removed. */
const LOST: ReadonlyMap<string, TextKey> = new Map([
  ['ADDRESS', 'mail.recovered.address'],
  ['PASSKEYS', 'mail.recovered.passkeys'],
  ['SECOND_FACTOR', 'secondFactor.name'],
  ['WALLET', 'mail.recovered.wallet'],
  ['IDENTITIES', 'mail.recovered.identities'],
]);

function invite(
  row: ApplicationOf & Pick<DueNotice, 'initiateLoginUri'>,
  { authPageUrl, clock, codeKeys, hasMutePage }: ComposeParts,
  mail: { to: string; language: Language; expiresAt: Date },
): Mail {
  const token = createMuteToken(codeKeys, mail.to, clock());
  return createInvitationMail({
    ...mail,
    application: toApplication(row, mail.language),
    initiateLoginUri: row.initiateLoginUri,
    muteUrl: hasMutePage ? `${authPageUrl}/mute?t=${token}` : undefined,
  });
}

type ApplicationOf = Pick<DueNotice, 'applicationId' | 'applicationName' | 'accentColor' | 'supportUri'>;

/** The name of the account page is translated. */
function toApplication({ applicationId, applicationName, accentColor, supportUri }: ApplicationOf, language: Language) {
  const isAccount = applicationId === ACCOUNT_APPLICATION_ID || applicationName === null;
  return { name: isAccount ? language.text('account.title') : applicationName, accentColor, supportUri };
}

interface InvitationMail extends Pick<Mail, 'to' | 'language' | 'application'> {
  /** Where a login starts. Null if the application has no such page. */
  readonly initiateLoginUri: string | null;
  readonly expiresAt: Date;
  /** The link that mutes the address. Undefined if Usher has no such page. */
  readonly muteUrl: string | undefined;
}

/** Returns the e-mail that invites a person. Its link has no secret: it leads to a login that begins with the address. */
export function createInvitationMail({ initiateLoginUri, expiresAt, muteUrl, ...envelope }: InvitationMail): Mail {
  const { language, to } = envelope;
  const application = envelope.application.name;
  return {
    ...envelope,
    kind: 'invitation',
    subject: ['mail.invitation.subject', { application }],
    heading: ['mail.invitation.subject', { application }],
    paragraphs: [
      ['mail.invitation.text', { application, email: showEmail(to) }],
      ['mail.invitation.until', { date: language.date(expiresAt) }],
    ],
    ...(initiateLoginUri && {
      action: { text: ['mail.invitation.open', { application }], url: withAddress(initiateLoginUri, to) },
    }),
    notes: [['mail.invitation.ignore', { application }]],
    ...(muteUrl && { link: createMuteLink(language, muteUrl) }),
  };
}

/** Appends the address as a fragment: browsers keep it over redirects and send it to no server. */
function withAddress(uri: string, email: string): string {
  const url = new URL(uri);
  url.hash = new URLSearchParams({ email }).toString();
  return url.href;
}

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
  recovered: {
    kind: 'recovery notice',
    subject: 'mail.recovered.subject',
    text: 'mail.recovered.text',
    notYou: 'mail.walletLinked.notYou',
    value: 'removed',
  },
  recoveryCodeUsed: {
    kind: 'second factor notice',
    subject: 'mail.recoveryCodeUsed.subject',
    text: 'mail.recoveryCodeUsed.text',
    notYou: 'mail.secondFactorRemoved.notYou',
    value: undefined,
  },
  recoveryFailed: {
    kind: 'recovery notice',
    subject: 'mail.recoveryFailed.subject',
    text: 'mail.recoveryFailed.text',
    notYou: 'mail.walletLinked.notYou',
    value: undefined,
  },
  recoveryStarted: {
    kind: 'recovery notice',
    subject: 'mail.recoveryStarted.subject',
    text: 'mail.recoveryStarted.text',
    notYou: 'mail.recoveryStarted.notYou',
    value: undefined,
  },
  secondFactorAdded: {
    kind: 'second factor notice',
    subject: 'mail.secondFactorAdded.subject',
    text: 'mail.secondFactorAdded.text',
    notYou: 'mail.secondFactorAdded.notYou',
    value: undefined,
  },
  secondFactorFailed: {
    kind: 'second factor notice',
    subject: 'mail.secondFactorFailed.subject',
    text: 'mail.secondFactorFailed.text',
    notYou: 'mail.secondFactorRemoved.notYou',
    value: undefined,
  },
  secondFactorRemoved: {
    kind: 'second factor notice',
    subject: 'mail.secondFactorRemoved.subject',
    text: 'mail.secondFactorRemoved.text',
    notYou: 'mail.secondFactorRemoved.notYou',
    value: undefined,
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
} as const satisfies Record<Exclude<NoticeKind, 'invitation' | 'recoveredFormer'>, object>;

interface Notice extends Pick<Mail, 'action' | 'to' | 'language' | 'application' | 'link'> {
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
