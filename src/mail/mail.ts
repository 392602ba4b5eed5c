/**
 * The content of an e-mail, from which its text and its HTML are made. Each kind of e-mail has a function that returns
 * it.
 */

import { MUTE_HOURS } from '../domain/login/muted-addresses.ts';
import type { Language, TextKey } from '../texts/texts.ts';

export interface Mail {
  /** The name of the kind of e-mail in the log, such as `login code`. */
  readonly kind: string;
  readonly to: string;
  readonly language: Language;
  readonly application: MailApplication;
  readonly subject: MailText;
  readonly heading: MailText;
  readonly code?: MailCode;
  readonly paragraphs: readonly MailText[];
  /** A button below the paragraphs. */
  readonly action?: MailLink;
  /** Small print below a line: what to do if the person did not cause the e-mail. */
  readonly notes: readonly MailText[];
  /** A link after the notes. */
  readonly link?: MailLink;
}

export interface MailLink {
  readonly text: MailText;
  readonly url: string;
}

/** The key of a text, and the values for its placeholders. HTML emphasises the value `host`. */
export type MailText = readonly [key: TextKey, values?: Readonly<Record<string, string>>];

/** The application that the e-mail names as its sender. */
export interface MailApplication {
  readonly name: string;
  /** `#rrggbb`. */
  readonly accentColor?: string | null;
  /** Replies go there if it is a `mailto:` URI. */
  readonly supportUri?: string | null;
}

/** A code to enter. The plain text has the digits once, the HTML twice. */
interface MailCode {
  readonly digits: string;
  /** The first sentence of the plain text, with the digits. */
  readonly sentence: MailText;
  /** The preview that mail programs show in lists. They also look for the code there. */
  readonly preheader: MailText;
}

/** Returns the link of an e-mail that a stranger may have caused. @param url the page that mutes the address */
export function createMuteLink(language: Language, url: string): NonNullable<Mail['link']> {
  return { text: ['mail.code.mute', { duration: language.duration(MUTE_HOURS, 'hour') }], url };
}

/** A single plain address. Anything more could add syntax to the header that the address is written to. */
const MAILTO = /^mailto:([\w.!#$&'*+/=^`{|}~-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*)$/i;

/** Returns the e-mail address of the application's support, or undefined if it has none. */
export function supportAddressOf({ supportUri }: MailApplication): string | undefined {
  return MAILTO.exec(supportUri ?? '')?.[1];
}

/** Returns an e-mail address, a URL, or the name of the application if it has no support URI. */
export function supportOf(application: MailApplication): string {
  return supportAddressOf(application) ?? (application.supportUri || application.name);
}
