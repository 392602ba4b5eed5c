/** Knows what must not be told, and looks for it in texts, in whatever spelling. */
import type { RawReply } from './protocols.ts';

export class SecretScanner {
  readonly #secrets = new Map<string, Set<string>>();
  /** Values too short to look for but as words of their own, such as login codes. */
  readonly #words: string[] = [];
  /** Each secret that was found, and where. */
  readonly leaks: string[] = [];
  texts = 0;

  /** The number of names that secrets were kept under. */
  get size(): number {
    return this.#secrets.size;
  }

  /** Keeps a secret under a name. Of values that are base64, such as keys, the bytes are a secret too. */
  keep(name: string, value: string, { bytes }: { bytes?: Buffer } = {}): string {
    const spellings = this.#secrets.get(name) ?? new Set<string>();
    for (const spelling of spellingsOf(value)) spellings.add(spelling);
    if (bytes) for (const encoding of ['hex', 'base64', 'base64url'] as const) spellings.add(bytes.toString(encoding));
    this.#secrets.set(name, spellings);
    return value;
  }

  /** Keeps every text of 8 characters or more in the JSON under its field's name, except the `allowed` ones. */
  keepAll(json: unknown, { name = '', allowed = [] }: { name?: string; allowed?: readonly string[] } = {}): void {
    if (typeof json === 'string' && json.length >= 8 && !allowed.includes(json)) this.keep(name, json);
    if (typeof json !== 'object' || json === null) return;
    for (const [key, value] of Object.entries(json)) this.keepAll(value, { name: `${name}.${key}`, allowed });
  }

  keepWord(word: string): void {
    this.#words.push(word);
  }

  /** Notes every secret in the text that is not allowed there. */
  look(where: string, text: string, allowed: readonly string[] = []): void {
    this.texts++;
    for (const [name, spellings] of this.#secrets) {
      if (allowed.includes(name)) continue;
      if ([...spellings].some((spelling) => text.includes(spelling))) this.leaks.push(`${name} in ${where}`);
    }
    for (const word of this.#words) {
      if (new RegExp(`(?<!\\d)${word}(?!\\d)`).test(text)) this.leaks.push(`a login code in ${where}`);
    }
  }

  /** Looks at a reply, what is in base64 within it included. */
  lookAt(where: string, { headers, bytes, trailers }: RawReply, allowed: readonly string[] = []): void {
    const plain = `${JSON.stringify([headers, trailers])}\n${bytes.toString()}\n${bytes.toString('latin1')}`;
    const encoded = plain.match(/[A-Za-z0-9+/_-]{16,}/g) ?? [];
    this.look(where, [plain, ...encoded.map((text) => Buffer.from(text, 'base64').toString())].join('\n'), allowed);
  }
}

/** Returns a value in every spelling in which it might turn up. */
function spellingsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  // In the middle of something, base64 has one of three spellings, less its ends.
  const shifted = [0, 1, 2].map((shift) => {
    const base64 = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    return base64.replace(/=+$/, '').slice(4, -2);
  });
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    encodeURIComponent(value),
    new URLSearchParams({ value }).toString().slice('value='.length),
    ...shifted,
    ...shifted.map((spelling) => spelling.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}
