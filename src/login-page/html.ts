/** HTML whose values are escaped unless they are HTML themselves. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export function html(strings: TemplateStringsArray, ...values: (string | Html | undefined | false)[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(toHtmlText)));
}

function toHtmlText(value: string | Html | undefined | false): string {
  if (value instanceof Html) return value.text;
  return value ? value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`) : '';
}
