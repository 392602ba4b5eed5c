import type { AccountSession } from '../../domain/grants/list-account-sessions.ts';
import type { User } from '../../domain/users/user.ts';
import type { AccountFormView, ShownSection } from '../../login-page/page-offer.ts';

/** The data of the account page itself. */
export interface AccountView extends AccountFormView {
  readonly user: User;
  /** The names of the user's groups. */
  readonly groups: readonly string[];
  readonly sessions: readonly AccountSession[];
  readonly sections: readonly ShownSection[];
  /** Identifies this browser in sessions. */
  readonly browserDigest: Buffer;
  readonly providers: { nameOf(providerId: string): string };
  /** The text that confirms a change, or an empty string. */
  readonly note: string;
  /** Whether the last sign-in is recent enough for changes. */
  readonly isFresh: boolean;
  readonly mayDelete: boolean;
  /** Whether people can sign in with codes. */
  readonly hasEmail: boolean;
}
