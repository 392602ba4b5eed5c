/** Every text of every page comes from the catalogue. */
import { expect, it } from 'vitest';
import { renderDocument } from '../../src/login-page/pages/document.ts';
import { type Catalogue, createLanguage, ENGLISH_CATALOGUE } from '../../src/texts/texts.ts';
import { SCREENS } from '../preview/screens.ts';
import { textOf } from '../support/login-browser.ts';

/** What people have written stands in `<bdi>`. The languages have their own names, and the mark has an initial. */
const NO_TEXT = /<(style|script|option|bdi)\b[^>]*>.*?<\/\1>|<span class="mark[^>]*>[^<]*<\/span>/gs;
const TEXT_ATTRIBUTE =
  /\s(?:title|alt|placeholder|aria-label|data-(?!challenge|known|options|problem|rp-id|user-id|verification)[\w-]+)="([^"]*)"/g;

/** A language that shows which words of a page do not come from the catalogue. */
const OPEN = '⟦';
const CLOSE = '⟧';

const pseudoCatalogue = Object.fromEntries(
  Object.entries(ENGLISH_CATALOGUE).map(([key, text]) => [key, `${OPEN}${text}${CLOSE}`]),
);

/** The tag is that of accented English (CLDR). */
const PSEUDO = createLanguage('en-XA', pseudoCatalogue as Catalogue);

const INNERMOST = new RegExp(`${OPEN}[^${OPEN}${CLOSE}]*${CLOSE}`, 'g');

it.each(SCREENS)('on the page $name', ({ render }) => {
  const document = renderDocument(render(PSEUDO), '').replace(NO_TEXT, '');
  const attributes = [...document.matchAll(TEXT_ATTRIBUTE)].map(([, value = '']) => value);
  const shown = [document.replace(/<[^>]*>/g, '\n'), ...attributes];
  expect(shown.map((text) => withoutTexts(textOf(text))).filter((text) => /\p{L}/u.test(text))).toEqual([]);
});

/** Returns what is left of a text without the texts of the catalogue, which may hold others. */
function withoutTexts(text: string): string {
  const rest = text.replace(INNERMOST, '');
  return rest === text ? rest.trim() : withoutTexts(rest);
}
