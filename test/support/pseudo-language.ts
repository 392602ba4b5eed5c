/** A language that shows which words of a page do not come from the catalogue. */
import { type Catalogue, createLanguage, ENGLISH_CATALOGUE } from '../../src/texts/texts.ts';

const OPEN = '⟦';
const CLOSE = '⟧';

const pseudoCatalogue = Object.fromEntries(
  Object.entries(ENGLISH_CATALOGUE).map(([key, text]) => [key, `${OPEN}${text}${CLOSE}`]),
);

/** The tag is that of accented English (CLDR). */
export const PSEUDO = createLanguage('en-XA', pseudoCatalogue as Catalogue);

/** Returns what is left of a text without the texts of the catalogue. */
export function withoutTexts(text: string): string {
  return text.replace(new RegExp(`${OPEN}[^${OPEN}${CLOSE}]*${CLOSE}`, 'g'), '').trim();
}
