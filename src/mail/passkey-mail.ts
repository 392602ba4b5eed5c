import type { Mail } from './mail.ts';
import { supportOf } from './support.ts';

interface PasskeyMail extends Pick<Mail, 'to' | 'language' | 'application'> {
  readonly passkeyName: string;
  readonly host: string;
  readonly at: Date;
}

/** Returns the notice that a passkey can sign in as the user from now on. */
export function createPasskeyAddedMail({ passkeyName: name, host, at, ...envelope }: PasskeyMail): Mail {
  const { language, application } = envelope;
  return {
    ...envelope,
    kind: 'passkey notice',
    subject: ['mail.passkeyAdded.subject'],
    heading: ['mail.passkeyAdded.subject'],
    paragraphs: [['mail.passkeyAdded.text', { host, date: language.date(at), name }]],
    notes: [['mail.passkeyAdded.notYou', { application: application.name, support: supportOf(application) }]],
  };
}

/** Returns the notice that a passkey cannot sign in as the user any more. */
export function createPasskeyRemovedMail({ passkeyName: name, host, at, ...envelope }: PasskeyMail): Mail {
  const { language, application } = envelope;
  return {
    ...envelope,
    kind: 'passkey notice',
    subject: ['mail.passkeyRemoved.subject'],
    heading: ['mail.passkeyRemoved.subject'],
    paragraphs: [['mail.passkeyRemoved.text', { host, date: language.date(at), name }]],
    notes: [['mail.passkeyRemoved.notYou', { application: application.name, support: supportOf(application) }]],
  };
}
