/** HTML that needs no more escaping. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
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
