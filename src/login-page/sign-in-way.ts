/** What a module adds to the login page: a way to sign in, beside codes. */
import type { Logger } from 'pino';
import type { Branding } from '../domain/applications/branding.ts';
import type { ProviderNames } from '../domain/identities/provider-names.ts';
import type { LoginContext } from './login-context.ts';
import type { WayView } from './pages/view.ts';

/** What a login asks of a sign-in. */
export interface AskedSignIn extends Pick<Branding, 'loginMethods'> {
  /** The lowest level that completes it. */
  readonly requiredAssurance: number;
}

export interface SignInWay {
  /** The highest level of assurance that it can show. One factor if absent. */
  readonly highest?: number;
  /** Its forms are below those of all others. */
  readonly isLast?: boolean;
  /**
   * Returns what the pages of a login show of it, or undefined if people cannot sign in to the application by it.
   *
   * @param login what its application allows, and the level that it demands
   * @param request undefined for a preview
   */
  view(login: AskedSignIn, request?: LoginContext): WayView | undefined;
  /** Returns the page that the person wants to see after the sign-in, before the application. */
  findWantedPage?(request: LoginContext, prompt?: string): string | undefined;
  /** Returns the page with an offer that is due after a sign-in by another method. */
  findDueOffer?(request: LoginContext): Promise<string | undefined>;
  /** The providers whose IDs are methods of sign-ins. */
  readonly providers?: ProviderNames;
  /** Runs its background job until the signal is aborted. */
  run?(parts: { readonly logger: Logger; readonly signal: AbortSignal }): Promise<void>;
}
