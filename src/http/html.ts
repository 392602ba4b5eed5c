/** HTML that is escaped already. */
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

/** `head` follows the title. */
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

/** Template tag that escapes its values, except for HTML. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(strings.reduce((text, next, index) => text + toHtmlText(values[index - 1]) + next));
}

function toHtmlText(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return value ? escapeText(value) : '';
}

/** Most values need no escaping, and the test is cheaper than a replacement that finds nothing. */
function escapeText(value: string): string {
  if (!SPECIAL.test(value)) return value;
  return value.replace(EVERY_SPECIAL, (character) => `&#${character.charCodeAt(0)};`);
}
