import type { LoginProvider } from '../../config/login-providers.ts';
import type { AccountSession } from '../../domain/account/list-account-sessions.ts';
import type { AccountRememberedSignIn } from '../../domain/account/list-remembered-sign-ins.ts';
import type { UserIdentity } from '../../domain/identities/list-identities.ts';
import type { Passkey } from '../../domain/passkeys/passkey.ts';
import type { User } from '../../domain/users/user.ts';
import type { PageView } from '../pages/view.ts';

export interface AccountFormView extends PageView {
  readonly path: string;
  /** The host of the public URL. */
  readonly host: string;
  /** Binds the form to the browser's cookie. */
  readonly formToken: string;
  /** The text about a problem, or an empty string. */
  readonly alert: string;
}

/** The data of the account page itself. */
export interface AccountView extends AccountFormView {
  readonly user: User;
  readonly sessions: readonly AccountSession[];
  readonly signIns: readonly AccountRememberedSignIn[];
  /** The values that identify this browser in sessions and in remembered sign-ins. */
  readonly thisDevice: { readonly browserDigest: Buffer; readonly tokenDigest: Buffer | undefined };
  /** Undefined if people cannot sign in with passkeys. */
  readonly passkeys: readonly Passkey[] | undefined;
  /** The providers at which people can sign in. */
  readonly providers: readonly LoginProvider[];
  readonly identities: readonly UserIdentity[];
  /** The text that confirms a change, or an empty string. */
  readonly note: string;
  /** Whether the last sign-in is recent enough for changes. */
  readonly isFresh: boolean;
  readonly mayDelete: boolean;
  /** Whether people can sign in with a wallet. */
  readonly hasWallets: boolean;
  /** Whether people can sign in with codes. */
  readonly hasEmail: boolean;
}
