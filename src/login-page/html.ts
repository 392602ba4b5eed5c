/** HTML that needs no more escaping. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Template tag that escapes its values, except for HTML. */
export function html(strings: TemplateStringsArray, ...values: (string | Html | undefined | false)[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(toHtmlText)));
}

function toHtmlText(value: string | Html | undefined | false): string {
  if (value instanceof Html) return value.text;
  return value ? value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`) : '';
}
