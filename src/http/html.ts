/** HTML that needs no more escaping. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A document in English. `head` is what its head has besides the title. */
export function htmlDocument(title: string, head: Html, body: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>
`.text;
}

type Value = string | Html | readonly Html[] | undefined | false;

/** Template tag that escapes its values, except for HTML. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(toHtmlText)));
}

function toHtmlText(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return value ? value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`) : '';
}
