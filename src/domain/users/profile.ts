/** What an application learns of a user. */
export interface Profile {
  readonly email: string;
  readonly name: string | null;
  readonly profileImage: string | null;
  /** Empty if the user has none. */
  readonly walletAddress: string;
}
