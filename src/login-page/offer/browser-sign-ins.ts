/** How optional parts keep people signed in to Usher's own pages, in their browsers, and how a browser signs them out. */
import type { Call } from '../../domain/core/call.ts';
import type { Completion, OwnSignIn } from '../../domain/login/complete-login.ts';
import type { LoginIntent } from '../../domain/login/login-intent.ts';
import { cutOffBrowser } from '../../domain/sessions/browser-cutoffs.ts';
import type { AuthTokens } from '../../domain/tokens/auth-tokens.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { IdentifiedBrowser, KnownBrowser } from '../browser/browser-cookie.ts';
import type { PageContent } from '../pages/document.ts';
import type { FormView } from '../pages/view.ts';

/** The browser of a request, with a call for its statements. */
export interface OwnBrowser {
  readonly context: HttpContext;
  readonly call: Call;
  readonly browser: IdentifiedBrowser;
}

export interface BrowserSignIn {
  /** Returns the ID of the user whom the cookies of this browser sign in. */
  findUserId(own: OwnBrowser): Promise<string | undefined>;
  /**
   * Signs this browser out. If `cutOff` fails before the cookies are gone, a second try does it all again.
   *
   * @param options.userId if given, only this user is signed out
   * @param options.cutOff is called with the user who was signed in, and ends what a copy of the cookies could still do
   */
  end(own: OwnBrowser, options: EndOptions): Promise<void>;
}

interface EndOptions {
  readonly userId?: string;
  readonly cutOff?: (userId: string) => Promise<void>;
}

/** The sign-ins that browsers remember, as the login page and protocols use them. */
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

interface InOwnBrowser extends OwnBrowser {
  readonly parts: { readonly browserSignIns: readonly BrowserSignIn[] };
}

/** Returns the IDs of the users whom the cookies of this browser sign in. */
export async function findSignedInHere({ parts, ...own }: InOwnBrowser): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const signIn of parts.browserSignIns) {
    const userId = await signIn.findUserId(own);
    if (userId !== undefined) found.add(userId);
  }
  return [...found];
}

/** Ends every sign-in of this browser to Usher's pages. Without any, nothing is stored. */
export async function signOutHere({ parts, ...own }: InOwnBrowser): Promise<void> {
  const { browser, call } = own;
  const done = new Set<string>();
  const cutOff = async (userId: string) => {
    if (done.has(userId)) return;
    await cutOffBrowser(call, { userId, browserDigest: browser.digest });
    done.add(userId);
  };
  for (const signIn of parts.browserSignIns) await signIn.end(own, { cutOff });
}

/** Does the same for one user, whose sign-in in this browser an application has proved. */
export async function signUserOutHere({ parts, ...own }: InOwnBrowser, userId: string): Promise<void> {
  for (const signIn of parts.browserSignIns) await signIn.end(own, { userId });
  await cutOffBrowser(own.call, { userId, browserDigest: own.browser.digest });
}
