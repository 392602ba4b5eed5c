/** Pages: escaped HTML, and the styles and scripts that they contain inline. */
import { readFileSync } from 'node:fs';

/** Escaped HTML. The tag `html` inserts it unchanged. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

interface DocumentAttributes {
  readonly language?: string;
  readonly direction?: 'ltr' | 'rtl';
  readonly className?: string;
}

/** Returns a complete document. `head` is inserted after the title. */
export function htmlDocument(
  title: string,
  head: Html,
  body: Html,
  { language = 'en', direction, className }: DocumentAttributes = {},
): string {
  return html`<!doctype html>
<html lang="${language}"${direction && html` dir="${direction}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body${className && html` class="${className}"`}>
${body}
</body>
</html>
`.text;
}

const SPECIAL = /[&<>"']/;
const EVERY_SPECIAL = new RegExp(SPECIAL, 'g');

type Value = string | Html | readonly Html[] | undefined | false;

/** Template tag that escapes all values except `Html`. Undefined and false are omitted. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(strings.reduce((text, next, index) => text + toHtmlText(values[index - 1]) + next));
}

function toHtmlText(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return value ? escapeText(value) : '';
}

/** Tests first: most values need no escaping, and a test costs less than a replacement without a match. */
function escapeText(value: string): string {
  if (!SPECIAL.test(value)) return value;
  return value.replace(EVERY_SPECIAL, (character) => `&#${character.charCodeAt(0)};`);
}

/** Usher's mark, in the colour of the text. */
export const MARK = html`<svg width="22" height="22" viewBox="0 0 22 22" fill="none" aria-hidden="true"><path fill="currentColor" d="M2 21V9.5a9 9 0 0 1 18 0V21h-4.5V9.5a4.5 4.5 0 0 0-9 0V21z"/><circle cx="11" cy="14.5" r="2" fill="currentColor"/></svg>`;

/** Returns the style without comments and most white space. */
export function readStyle(...files: readonly URL[]): string {
  return files
    .map(readText)
    .join('\n')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s*\n\s*/g, '\n')
    .replace(/(?<=[{}:;,])\s+/g, '')
    .replace(/ \{/g, '{')
    .replace(/;}/g, '}')
    .trim();
}

/**
 * Returns the text of a module for `joinScripts`, without whole-line comments, indentation, imports and the word
 * `export`. The first of the joined modules declares its exports where the others can use them.
 */
export function readScript(file: URL): string {
  return readText(file)
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^import .*$/gm, '')
    .replace(/^export /gm, '')
    .replace(/\s*\n\s*/g, '\n')
    .trim();
}

/** Joins scripts into one module. Each script after the first has its own scope. */
export function joinScripts(first: string, others: readonly string[]): string {
  return [first, ...others.map((other) => `{\n${other}\n}`)].join('\n');
}

function readText(file: URL): string {
  return readFileSync(file, 'utf8');
}
