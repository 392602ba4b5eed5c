/** The browser that a user signs in with. Codes and challenges of one browser are useless in another. */
export interface Browser {
  /** SHA-256 of the secret in its cookie. */
  readonly digest: Buffer;
  /** Its IP address. */
  readonly address: string;
}
