import { expect, test } from 'vitest';
import { html } from '../../src/http/html.ts';
import { ENGLISH, LANGUAGES } from '../../src/texts/texts.ts';

test('plain text isolates its values, which cannot change the direction of the text around them', () => {
  const application = 'Shop \u202e\u2069 <b>';
  expect(ENGLISH.text('choice.title', { application })).toBe('Sign in to \u2068Shop  <b>\u2069');
});

test('HTML isolates and escapes its values, which cannot open a direction, and keeps HTML as it is', () => {
  expect(ENGLISH.html('choice.title', { application: '\u202e\u2066<b>' }).text).toBe(
    'Sign in to <bdi>&#60;b&#62;</bdi>',
  );
  expect(ENGLISH.html('choice.return', { host: html`<b>x</b>` }).text).toBe('You will return to <b>x</b>');
});

test('a text that lacks a value is refused', () => {
  expect(() => ENGLISH.text('choice.title')).toThrow('{application}');
  expect(() => ENGLISH.html('choice.title', {})).toThrow('{application}');
});

test.each([
  ['en', 'ltr', '10 minutes', '1 minute', 'January 2, 2030'],
  ['de', 'ltr', '10 Minuten', '1 Minute', '2. Januar 2030'],
  ['pl', 'ltr', '10 minut', '1 minuta', '2 stycznia 2030'],
  ['ar', 'rtl', '10 دقائق', 'دقيقة', '2 يناير 2030'],
  ['ja', 'ltr', '10 分', '1 分', '2030年1月2日'],
])('%s is written %s, with %s, %s and %s', (tag, direction, minutes, minute, date) => {
  const language = LANGUAGES.get(tag);
  expect(language?.direction).toBe(direction);
  expect(language?.duration(10, 'minute')).toBe(minutes);
  expect(language?.duration(1, 'minute')).toBe(minute);
  expect(language?.date(new Date('2030-01-02T23:59:59Z'))).toBe(date);
});
