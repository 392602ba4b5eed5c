import type { Passkey } from '../../../domain/passkeys/passkey.ts';
import type { LoginView } from '../../../login-page/pages/view.ts';
import type { CreationOptions } from '../domain/creation-options.ts';

/** The request that the script makes to a passkey. */
export interface PasskeyView {
  readonly challenge: string;
  readonly rpId: string;
  /** Whether the passkey must verify the person. Otherwise it does if it can. */
  readonly needsVerification?: boolean;
  /** Why the previous passkey was refused: `unknown` if Usher has no such passkey. */
  readonly problem: 'invalid' | 'unknown' | undefined;
}

/** The data of the pages that show and add passkeys after a sign-in. */
export interface PasskeysView extends LoginView {
  readonly host: string;
  readonly passkeys: readonly Passkey[];
  readonly options: CreationOptions;
}
