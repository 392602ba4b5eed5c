/** Holds the glossary of CONTRIBUTING.md against the code: one word per thing. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

const glossary = readText('CONTRIBUTING.md')
  .split(/^## /m)
  .find((section) => section.startsWith('Glossary\n'))
  ?.matchAll(/^\| ([a-z][a-z -]*) \| .* \| ([a-z -]+(?:, [a-z -]+)*)? ?\|$/gm);
const rows = [...(glossary ?? [])].map(([, word = '', retired]) => ({
  word,
  retired: retired?.trim().split(', ') ?? [],
}));

const files = ['src', 'proto']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((path) => /\.(js|md|proto|ts)$/.test(path))
  // What people search for who do not know the words yet.
  .filter((path) => path !== join('src', 'reference', 'docs', 'search-words.ts'))
  .concat('README.md')
  .map((path) => ({ path, words: toWords(`${path}\n${readText(path)}`) }));

test('the glossary has about twenty words, each once', () => {
  expect(rows.length).toBeGreaterThanOrEqual(18);
  expect(rows.length).toBeLessThanOrEqual(26);
  const named = rows.flatMap(({ word, retired }) => [word, ...retired]);
  expect(named.filter((word, index) => named.indexOf(word) < index)).toEqual([]);
});

describe.each(rows)('$word', ({ word, retired }) => {
  test('is a word of the code', () => {
    expect(filesWith(word)).not.toEqual([]);
  });

  test.each(retired)('is not called %s', (synonym) => {
    expect(filesWith(synonym)).toEqual([]);
  });
});

/** Returns the files that have the word, or its plural, in an identifier, a comment or their path. */
function filesWith(word: string): string[] {
  const pattern = new RegExp(`\\b${toWords(word)}(s|es)?\\b`);
  return files.filter(({ words }) => pattern.test(words)).map(({ path }) => path);
}

/** Splits identifiers: `openDelivery`, `open_delivery` and `open-delivery` are two words each. */
function toWords(text: string): string {
  return text
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]/g, ' ')
    .toLowerCase();
}

/** The path of a form of the console says "resend", as the products do that operators know. */
function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').replaceAll(/\/resend\b/g, '');
}
