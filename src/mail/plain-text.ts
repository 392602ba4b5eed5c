import type { Language } from '../texts/texts.ts';
import type { Mail, MailLink, MailText } from './mail.ts';

/** Letters of scripts that run from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Characters that end a line or change the direction of the text around them (UAX #9). */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Returns one line of plain text: the subject, or a sentence. */
export function toLine(language: Language, [key, values]: MailText): string {
  return withoutNeedlessIsolates(language, language.text(key, values).replace(/\s+/gu, ' '));
}

export function toPlainText({ language, heading, code, paragraphs, action, notes, link }: Mail): string {
  const toText = (texts: readonly MailText[]) => texts.map((text) => toLine(language, text)).join('\n');
  // In a right-to-left text, a URL needs a line of its own to be shown from left to right.
  const separator = language.direction === 'rtl' ? ':\n' : ': ';
  const linesOf = (given?: MailLink) => (given ? [`${toLine(language, given.text)}${separator}${given.url}`] : []);
  const last = [toText(notes), ...linesOf(link)].join('\n');
  const blocks = [toText([code?.sentence ?? heading]), toText(paragraphs), ...linesOf(action), last];
  return `${blocks.join('\n\n')}\n`;
}

export function withoutControls(value: string): string {
  return value.replace(CONTROLS, ' ').trim();
}

/**
 * Removes U+2068 and U+2069 around values that have the direction of the text anyway: the characters disturb mail
 * programs that look for a code, and fonts without them show a box.
 */
function withoutNeedlessIsolates({ direction }: Language, text: string): string {
  const isSafe = (value: string) => /^\d+$/.test(value) || (direction === 'ltr' && !RIGHT_TO_LEFT.test(value));
  return text.replace(/\u2068([^\u2068\u2069]*)\u2069/g, (isolated, value) => (isSafe(value) ? value : isolated));
}
