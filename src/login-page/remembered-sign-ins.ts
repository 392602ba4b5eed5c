/** The sign-ins that browsers remember, as the login page and protocols use them. */
import type { Completion, OwnSignIn } from '../domain/login/complete-login.ts';
import type { LoginIntent } from '../domain/login/login-intent.ts';
import type { AuthTokens } from '../domain/tokens/auth-tokens.ts';
import type { HttpContext } from '../http/http-context.ts';
import type { KnownBrowser } from './browser-cookie.ts';
import type { OwnBrowser } from './browser-sign-in.ts';
import type { PageContent } from './pages/document.ts';
import type { FormView } from './pages/view.ts';

export interface RememberedSignIns {
  /** Remembers a sign-in in this browser. An error is ignored: the next application then asks for a new sign-in. */
  remember(own: OwnBrowser, signIn: OwnSignIn): Promise<void>;
  /** Renders the offer to continue, or returns undefined if this browser remembers nothing that may complete the login. */
  renderOffer(own: OwnBrowser, login: LoginIntent, view: FormView): Promise<PageContent | undefined>;
  /** Returns whether the browser has the cookie of a sign-in. */
  hasCookie(context: HttpContext, browser: Pick<KnownBrowser, 'isSecure'>): boolean;
  /**
   * Completes the login without a page. With `userId`, the sign-in must be that user's.
   *
   * @throws ServiceError `Sign-in not remembered`, and as `requireOpenIntent` does
   */
  complete(
    own: OwnBrowser & { readonly browser: KnownBrowser },
    tokens: AuthTokens,
    login: { readonly loginIntentId: string; readonly userId?: string | null | undefined },
  ): Promise<Completion>;
}
