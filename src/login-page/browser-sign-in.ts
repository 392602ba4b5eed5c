/** How optional parts keep people signed in to Usher's own pages, in their browsers. */
import type { Call } from '../domain/core/call.ts';
import type { HttpContext } from '../http/http-context.ts';
import type { IdentifiedBrowser } from './browser-cookie.ts';

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
