/** The providers at which people may sign in, by what the rest of Usher knows of them. */
export interface ProviderNames {
  /** Those that people may use, in the order of their file. */
  readonly all: readonly { readonly id: string; readonly name: string }[];
  /** The issuers by ID, of all that the file has, even if people may not use them. */
  readonly issuers: ReadonlyMap<string, string>;
  /** Returns the name of a provider, or an empty string for an unknown ID. */
  nameOf(id: string): string;
  /** How those that people may use have answered last in this process. */
  readAnswers(): readonly ProviderAnswer[];
}

export interface ProviderAnswer {
  readonly name: string;
  /** What shows a second factor that counts: claims of its ID tokens, their values and levels. */
  readonly assurance: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Undefined if nobody has tried to sign in there. */
  readonly at: Date | undefined;
  /** Why there was no answer. */
  readonly problem: string | undefined;
}

export const NO_PROVIDERS: ProviderNames = { all: [], issuers: new Map(), nameOf: () => '', readAnswers: () => [] };
