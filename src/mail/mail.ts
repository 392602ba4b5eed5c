/** What an e-mail says, before it becomes text and HTML. A kind of e-mail is a function that returns one. */
import type { Language, TextKey } from '../texts/texts.ts';

export interface Mail {
  /** What the log calls it, such as `login code`. */
  readonly kind: string;
  readonly to: string;
  readonly language: Language;
  readonly application: MailApplication;
  readonly subject: MailText;
  readonly heading: MailText;
  readonly code?: MailCode;
  readonly paragraphs: readonly MailText[];
  /** Smaller, below a line: what to do if the person did not cause the e-mail. */
  readonly notes: readonly MailText[];
  /** Follows the notes. */
  readonly link?: { readonly text: MailText; readonly url: string };
}

/** A text by its key, and the values that it needs. The value `host` is emphasised. */
export type MailText = readonly [key: TextKey, values?: Readonly<Record<string, string>>];

/** The application in whose name the e-mail comes. */
export interface MailApplication {
  readonly name: string;
  /** `#rrggbb`. */
  readonly accentColor?: string | null;
  /** Replies go there if it is a `mailto:` URI. */
  readonly supportUri?: string | null;
}

/** Digits to enter. The text of the e-mail has them once, the HTML twice. */
interface MailCode {
  readonly digits: string;
  /** The first sentence of the text, with the digits. */
  readonly sentence: MailText;
  /** Shown in lists of e-mails. Mail programs also look there for the code. */
  readonly preheader: MailText;
}
