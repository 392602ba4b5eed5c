import type { LoginMethod } from '../../config/login-methods.ts';
import type { Html } from '../../http/html.ts';
import type { Language } from '../../texts/texts.ts';
import type { PagePlace } from '../browser/language-choice.ts';
import type { CodeFigures } from './alerts.ts';
import type { PageApplication } from './page-application.ts';

/** The data of every page. */
export interface PageView {
  readonly language: Language;
  readonly place: PagePlace;
  /** Undefined if the application is unknown. */
  readonly application?: PageApplication | undefined;
}

export interface LoginView extends PageView {
  /** The tag of the language that the person has chosen at this login, or an empty string. */
  readonly chosenLanguage: string;
  readonly applicationName: string;
  /** The text about a problem, or an empty string. */
  readonly alert: string;
  readonly loginIntentId: string;
  /** The client ID of the application, which identifies it after the intent was removed. */
  readonly clientId: string;
  /** The path of the login page in its public URL. */
  readonly path: string;
  /** Binds the form to the browser's cookie. */
  readonly formToken: string;
}

/** The text for people who may reach what the application demands, by a passkey only or otherwise, or if nothing here does. */
export type Demand = 'assurance.text' | 'assurance.factors' | 'assurance.two' | 'assurance.unmet';

/** The data of pages with forms. */
export interface FormView extends LoginView {
  /** Makes the forms of this page differ from those of all others. */
  readonly once: string;
  readonly figures: CodeFigures;
  readonly allowSignUp: boolean;
  /** The domains whose addresses may sign up, as A-labels. Empty for all. */
  readonly signUpEmailDomains: readonly string[];
  readonly methods: readonly LoginMethod[];
  /** Says what the application demands, if that is more than one factor. */
  readonly demand?: Demand | undefined;
  /** The path of the account page, where people add passkeys. Undefined if they cannot. */
  readonly accountPath?: string | undefined;
  /** The address that the user entered before. */
  readonly email: string;
  /** What modules add: further ways to sign in. */
  readonly ways: readonly WayView[];
  /** The page that the person wants to see after the sign-in, or an empty string. */
  readonly next?: string;
  /** What the user with the e-mail address gets: `1` for the wallet that has signed, a provider's ID for an account. */
  readonly link: string;
  /** The name of the provider whose account is to be linked, or an empty string. */
  readonly linkedProvider: string;
}

/** What the pages of a login show of a way to sign in. */
export interface WayView {
  /** Whether it is the passkey. */
  readonly isPasskey?: boolean;
  /** Renders its forms on the page where a person chooses how to sign in. */
  renderForms(view: FormView): Html;
  /** Renders its notes below the forms of all ways. */
  renderNotes?(view: FormView): Html;
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
