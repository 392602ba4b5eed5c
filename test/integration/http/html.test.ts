import { expect, test } from 'vitest';
import { Html, html, htmlDocument } from '../../../src/http/html.ts';

test.each([
  ['a & b', 'a &#38; b'],
  ['<script>', '&#60;script&#62;'],
  [`" onload='`, '&#34; onload=&#39;'],
  ['&amp;', '&#38;amp;'],
  [`&<>"'`.repeat(2), '&#38;&#60;&#62;&#34;&#39;'.repeat(2)],
  ['plain \u{1f600} `text` =/\0\n', 'plain \u{1f600} `text` =/\0\n'],
  ['', ''],
])('escapes the text %j', (value, escaped) => {
  expect(html`<p title="${value}">${value}</p>`.text).toBe(`<p title="${escaped}">${escaped}</p>`);
  expect(htmlDocument(value, new Html(''), new Html(''))).toContain(`<title>${escaped}</title>`);
});

test('keeps HTML and lists of it as they are, and the text around them', () => {
  const rows = ['<', '>'].map((value) => html`<li>${value}</li>`);
  expect(html`<ul>${rows}</ul>\n${new Html('<hr>')}`.text).toBe('<ul><li>&#60;</li><li>&#62;</li></ul>\n<hr>');
  expect(html`${[]}`.text).toBe('');
});

test('writes nothing for an absent value', () => {
  expect(html`<p>${undefined}${false}</p>`.text).toBe('<p></p>');
  expect(html``.text).toBe('');
});
