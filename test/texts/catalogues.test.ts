/** The catalogues have the same texts, in every language that the README names. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LANGUAGES } from '../../src/texts/texts.ts';

const SOURCES = join(import.meta.dirname, '../../src');
const FOLDER = join(SOURCES, 'texts');

function readCatalogue(tag: string): Record<string, string> {
  return JSON.parse(readFileSync(join(FOLDER, 'catalogues', `${tag}.json`), 'utf8'));
}

const tags = readdirSync(join(FOLDER, 'catalogues')).map((name) => name.replace('.json', ''));
const english = readCatalogue('en');
const placeholdersOf = (text = '') => text.match(/\{\w+\}/g)?.sort() ?? [];

describe.each(tags)('%s', (tag) => {
  const catalogue = readCatalogue(tag);
  const texts = Object.entries(catalogue);

  test('has the names of the English texts, in their order', () => {
    expect(Object.keys(catalogue)).toEqual(Object.keys(english));
    expect(Object.keys(catalogue)).toEqual(Object.keys(catalogue).sort());
  });

  test('has the values of the English texts', () => {
    const values = texts.map(([key, text]) => [key, placeholdersOf(text)]);
    expect(values).toEqual(Object.entries(english).map(([key, text]) => [key, placeholdersOf(text)]));
  });

  test('has no empty text and no markup', () => {
    expect(texts.filter(([, text]) => !text.trim() || /[<>&\n]|[{}](?<!\{\w+\})(?!\w+\})/.test(text))).toEqual([]);
  });

  test('has texts that fit where the English ones do', () => {
    const long = texts.filter(([key, text]) => {
      const { length } = english[key] ?? '';
      return text.length > Math.max(1.8 * length, length + 20);
    });
    expect(long).toEqual([]);
  });

  test('says whether a speaker has reviewed it', () => {
    expect(['draft', 'reviewed']).toContain(catalogue['@status']);
  });
});

test('every text is shown somewhere', () => {
  const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const code = sources.map((name) => readFileSync(join(SOURCES, name), 'utf8')).join('\n');
  const texts = Object.keys(english).filter((key) => !key.startsWith('@'));
  // The compiler knows the keys that end with what is computed.
  const isShown = (key: string) => code.includes(`'${key}'`) || code.includes(`\`${key.replace(/[^.]+$/, '$${')}`);
  expect(texts.filter((key) => !isShown(key))).toEqual([]);
});

test('the README names every language and its state', () => {
  const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8');
  const rows = [...readme.matchAll(/^\| `([\w-]+)` \| (.+) \| (draft|reviewed) \|$/gm)].map(([, ...row]) => row);
  const states = [...LANGUAGES.values()].map(({ tag, name }) => [tag, name, readCatalogue(tag)['@status']]);
  expect(rows).toEqual(states);
});
