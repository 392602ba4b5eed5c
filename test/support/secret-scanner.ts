/** Knows what must not be told, and sees every text in which it might be. */
import { spellingsOf } from './log-leak-probe.ts';
import type { WireReply } from './wire.ts';

export class SecretScanner {
  readonly #secrets = new Map<string, Set<string>>();
  /** Values too short to look for but as words of their own, such as login codes. */
  readonly #words: string[] = [];
  /** Where something was that should not have been there. */
  readonly leaks: string[] = [];
  texts = 0;

  get size(): number {
    return this.#secrets.size;
  }

  /** Of values that are base64, such as keys, the bytes are a secret too. */
  keep(name: string, value: string, { bytes }: { bytes?: Buffer } = {}): string {
    const spellings = this.#secrets.get(name) ?? new Set<string>();
    for (const spelling of Object.values(spellingsOf(value))) spellings.add(spelling);
    if (bytes) for (const encoding of ['hex', 'base64', 'base64url'] as const) spellings.add(bytes.toString(encoding));
    this.#secrets.set(name, spellings);
    return value;
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

  /** A reply, what is in base64 within it included. */
  lookAt(where: string, { headers, body, trailers }: WireReply, allowed: readonly string[] = []): void {
    const plain = `${JSON.stringify([headers, trailers])}\n${body.toString()}\n${body.toString('latin1')}`;
    const encoded = plain.match(/[A-Za-z0-9+/_-]{16,}/g) ?? [];
    this.look(where, [plain, ...encoded.map((text) => Buffer.from(text, 'base64').toString())].join('\n'), allowed);
  }
}
