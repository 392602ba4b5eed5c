/**
 * The encryption keys of a process, which are replaced when their file changes. What was derived from them follows: so
 * the parts that derive keys need not know of it.
 */
export class EncryptionKeys extends Array<Buffer> {
  readonly #followers: (() => void)[] = [];

  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  replace(keys: readonly Buffer[]): void {
    this.splice(0, this.length, ...keys);
    for (const follow of this.#followers) follow();
  }

  /** Calls the function after each replacement. */
  follow(update: () => void): void {
    this.#followers.push(update);
  }
}

/** Returns what `derive` makes of each key, in their order. It stays up to date if the keys are replaced. */
export function deriveFromEach<Derived>(keys: readonly Buffer[], derive: (key: Buffer) => Derived): readonly Derived[] {
  const derived = keys.map(derive);
  if (keys instanceof EncryptionKeys) keys.follow(() => derived.splice(0, derived.length, ...keys.map(derive)));
  return derived;
}
