/** What a module adds to the login page: a way to sign in, beside codes and wallets. */
import type { Logger } from 'pino';
import type { Branding } from '../domain/applications/branding.ts';
import type { ProviderNames } from '../domain/identities/provider-names.ts';
import type { NoticeLinks } from '../domain/notices/notice-links.ts';
import type { Html } from '../http/html.ts';
import type { LoginRequest } from './login-request.ts';
import type { PageOffer } from './page-offer.ts';
import type { FormView } from './pages/view.ts';

export interface SignInWay extends PageOffer {
  /**
   * Returns what the pages of a login show of it, or undefined if people cannot sign in to the application by it.
   *
   * @param request undefined for a preview
   */
  view(branding: Pick<Branding, 'loginMethods'>, request?: LoginRequest): WayView | undefined;
  /** Returns the page that the person wants to see after the sign-in, before the application. */
  findWantedPage?(request: LoginRequest, prompt?: string): string | undefined;
  /** Returns the page with an offer that is due after a sign-in by another method. */
  findDueOffer?(request: LoginRequest): Promise<string | undefined>;
  /** The providers whose IDs are methods of sign-ins. */
  readonly providers?: ProviderNames;
  readonly noticeLinks?: NoticeLinks;
  /** Runs its background job until the signal is aborted. */
  run?(parts: { readonly logger: Logger; readonly signal: AbortSignal }): Promise<void>;
}

/** What the pages of a login show of a way to sign in. */
export interface WayView {
  /** Renders its forms on the page where a person chooses how to sign in. */
  renderForms(view: FormView): Html;
  /** Renders its links below the card of that page. */
  renderLinks?(view: FormView): Html;
  /** The scripts of that page. */
  readonly scripts?: readonly string[];
  /** Further fields of all forms before the sign-in. */
  readonly hidden?: Html;
  /** The scripts of the pages with such forms. */
  readonly formScripts?: readonly string[];
  /** The `autocomplete` of the field for the e-mail address. */
  readonly emailAutocomplete?: string;
}
