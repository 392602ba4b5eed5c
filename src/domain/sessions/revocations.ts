/** Takes revocations to the other processes of this replica, each of which has a cache of sessions. */
export interface Revocations {
  /** Resolves when the other processes have forgotten the user. */
  forgetUser(userId: string): Promise<void>;
  /** Sets what is called with each user whose sessions another process has ended. */
  onForget(forget: (userId: string) => void): void;
}
