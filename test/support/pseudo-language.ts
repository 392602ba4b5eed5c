/** A language that shows which words of a page do not come from the catalogue. */
import { type Catalogue, createLanguage, ENGLISH_CATALOGUE } from '../../src/texts/texts.ts';

const OPEN = '⟦';
const CLOSE = '⟧';

const pseudoCatalogue = Object.fromEntries(
  Object.entries(ENGLISH_CATALOGUE).map(([key, text]) => [key, `${OPEN}${text}${CLOSE}`]),
);

/** The tag is that of accented English (CLDR). */
export const PSEUDO = createLanguage('en-XA', pseudoCatalogue as Catalogue);

const INNERMOST = new RegExp(`${OPEN}[^${OPEN}${CLOSE}]*${CLOSE}`, 'g');

/** Returns what is left of a text without the texts of the catalogue, which may hold others. */
export function withoutTexts(text: string): string {
  const rest = text.replace(INNERMOST, '');
  return rest === text ? rest.trim() : withoutTexts(rest);
}
