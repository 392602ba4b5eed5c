import { showEmail } from '../config/email-address.ts';
import type { Mail } from './mail.ts';
import { createMuteLink } from './mute-link.ts';

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
