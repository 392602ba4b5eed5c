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
