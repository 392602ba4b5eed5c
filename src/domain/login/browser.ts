/** The browser a user signs in with. What belongs to one browser is worth nothing in another. */
export interface Browser {
  /** SHA-256 of the secret in its cookie. */
  readonly digest: Buffer;
  /** The IP address it calls from. */
  readonly address: string;
}
