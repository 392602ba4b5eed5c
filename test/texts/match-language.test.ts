import { describe, expect, test } from 'vitest';
import { matchHeader, matchTags } from '../../src/texts/match-language.ts';

describe('tags match by language and script', () => {
  test.each([
    ['de-AT', 'de'],
    ['DE', 'de'],
    ['xx de-CH-1996 en', 'de'],
    ['en de', 'en'],
    ['pt-PT', 'pt-BR'],
    ['zh-CN', 'zh-Hans'],
    ['zh-SG', 'zh-Hans'],
    ['zh-TW', undefined],
    ['zh-Hant-HK ja', 'ja'],
    ['ar-EG', 'ar'],
    ['sr-Latn', undefined],
    ['', undefined],
    ['*', undefined],
    [`${'x'.repeat(200)} de`, undefined],
    ['en-'.repeat(70), undefined],
    [`${'xx '.repeat(10)}de`, undefined],
    ['__proto__ constructor ../de', undefined],
  ])('%j: %s', (tags, expected) => {
    expect(matchTags(tags)?.tag).toBe(expected);
  });
});

describe('an Accept-Language header', () => {
  test.each([
    ['de', 'de'],
    ['fr;q=0, de;q=0.1', 'de'],
    ['en;q=0.5, de;q=0.9', 'de'],
    ['en;Q=0.5,de;q=1', 'de'],
    ['en;q=x, de;q=0.1', 'de'],
    ['en;q=-1, de;q=0.1', 'de'],
    ['en, de', 'en'],
    ['en ; q=0.1 , de ; q=0.2', 'de'],
    ['*', undefined],
    ['', undefined],
    [',;=q;;,', undefined],
    [`${','.repeat(10)}de`, undefined],
    [`${' '.repeat(200)}de`, undefined],
    ['a'.repeat(8_000), undefined],
  ])('%j: %s', (header, expected) => {
    expect(matchHeader(header)?.tag).toBe(expected);
  });
});
