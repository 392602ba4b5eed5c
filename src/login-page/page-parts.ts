/** What optional parts add to Usher's pages, taken together. */
import type { ProviderNames } from '../domain/identities/provider-names.ts';
import type { NoticeLinks } from '../domain/notices/notice-links.ts';
import type { BrowserSignIn } from './browser-sign-in.ts';
import type { RememberedSignIns } from './remembered-sign-ins.ts';
import type { SignInWays } from './sign-in-ways.ts';

export interface PageParts {
  /** In the order of the parts. */
  readonly browserSignIns: readonly BrowserSignIn[];
  readonly noticeLinks: NoticeLinks;
  readonly providers: ProviderNames;
  /** Undefined if browsers remember no sign-ins. */
  readonly rememberedSignIns: RememberedSignIns | undefined;
  readonly signInWays: SignInWays;
}
