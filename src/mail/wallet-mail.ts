import type { Mail } from './mail.ts';
import { supportOf } from './support.ts';

interface WalletMail extends Pick<Mail, 'to' | 'language' | 'application'> {
  readonly walletAddress: string;
  readonly host: string;
  readonly at: Date;
}

/** Returns the notice that a wallet can sign in as the user from now on. */
export function createWalletMail({ walletAddress, host, at, ...envelope }: WalletMail): Mail {
  const { language, application } = envelope;
  return {
    ...envelope,
    kind: 'wallet notice',
    subject: ['mail.walletLinked.subject'],
    heading: ['mail.walletLinked.subject'],
    paragraphs: [['mail.walletLinked.text', { address: walletAddress, host, date: language.date(at) }]],
    notes: [['mail.walletLinked.notYou', { support: supportOf(application) }]],
  };
}
