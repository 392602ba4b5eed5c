/**
 * The content of an e-mail, from which its text and its HTML are made. Each kind of e-mail has a function that returns
 * it.
 */
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
