/** The parameters of a request, from its query or form. An empty value counts as missing (RFC 6749, section 3.1). */
export class Parameters {
  readonly #values = new Map<string, string>();
  readonly #repeated = new Set<string>();

  constructor(text: string) {
    for (const [name, value] of new URLSearchParams(text)) {
      if (this.#values.has(name)) this.#repeated.add(name);
      else this.#values.set(name, value);
    }
  }

  /** Returns the first value, or undefined if there is none. */
  get(name: string): string | undefined {
    return this.#values.get(name) || undefined;
  }

  /** Returns whether the request repeats one of the parameters, which RFC 6749 forbids. */
  hasRepeated(names: readonly string[]): boolean {
    return names.some((name) => this.#repeated.has(name));
  }
}
