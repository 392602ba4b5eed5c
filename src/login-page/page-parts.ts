/** What optional parts add to Usher's pages, taken together. */
import type { ProviderNames } from '../domain/identities/provider-names.ts';
import type { NoticeLinks } from '../domain/notices/notice-links.ts';
import type { BrowserSignIn } from './browser-sign-in.ts';
import type { RememberedSignIns } from './remembered-sign-ins.ts';
import type { SignInWays } from './sign-in-ways.ts';

export interface PageParts {
  /** In the order of the parts. */
  readonly browserSignIns: readonly BrowserSignIn[];
  /** Whether the person with the address must sign in with a passkey somewhere, so even the first one may be young. */
  readonly demandsPasskey: (email: string) => boolean;
  readonly hasAccountPage: boolean;
  /** The paths of the first pages of applications of Usher's own, by application ID. */
  readonly homes: ReadonlyMap<string, string>;
  readonly noticeLinks: NoticeLinks;
  /** The host to which passkeys belong, unless it is that of the login page. */
  readonly passkeyHost: string | undefined;
  readonly providers: ProviderNames;
  /** Undefined if browsers remember no sign-ins. */
  readonly rememberedSignIns: RememberedSignIns | undefined;
  readonly signInWays: SignInWays;
}
