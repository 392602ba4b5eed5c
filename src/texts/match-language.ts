/** Finds the language of a catalogue for the languages that somebody prefers. */
import { LANGUAGES, type Language } from './texts.ts';

/** Browsers send less. */
const MAX_RANGES = 10;
const MAX_CHARACTERS = 200;

/** By language and script: who reads `zh-Hant` may not read `zh-Hans`, but who reads `pt-PT` reads `pt-BR`. */
const byScript = new Map([...LANGUAGES.values()].map((language) => [languageAndScript(language.tag), language]));

/** Returns the first language that there is of BCP 47 tags, which spaces separate. Ignores what is no tag. */
export function matchTags(tags: string): Language | undefined {
  for (const tag of tags.slice(0, MAX_CHARACTERS).split(' ', MAX_RANGES)) {
    const language = matchTag(tag);
    if (language) return language;
  }
  return undefined;
}

/** Returns the language for an `Accept-Language` header (RFC 9110, section 12.5.4). */
export function matchHeader(header: string): Language | undefined {
  const ranges = header.slice(0, MAX_CHARACTERS).split(',', MAX_RANGES).map(parseRange);
  const wanted = ranges.filter(({ quality }) => quality > 0).sort((a, b) => b.quality - a.quality);
  return matchTags(wanted.map(({ tag }) => tag).join(' '));
}

function parseRange(range: string): { tag: string; quality: number } {
  const [tag = '', ...parameters] = range.split(';').map((part) => part.trim());
  const given = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2);
  return { tag, quality: given === undefined ? 1 : Number.parseFloat(given) || 0 };
}

function matchTag(tag: string): Language | undefined {
  // Most people send such a tag, and it spares 6 us.
  const exact = LANGUAGES.get(tag);
  if (exact) return exact;
  const key = languageAndScript(tag);
  return key === undefined ? undefined : byScript.get(key);
}

/** Returns undefined if it is no tag, such as `*`. */
function languageAndScript(tag: string): string | undefined {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch {
    return undefined;
  }
}
