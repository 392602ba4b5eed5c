import type { LoginMethod } from '../../config/login-methods.ts';
import type { Language } from '../../texts/texts.ts';
import type { CodeFigures } from '../code-figures.ts';
import type { PageApplication } from '../page-application.ts';
import type { PagePlace } from '../page-place.ts';

/** The data of every page. */
export interface PageView {
  readonly language: Language;
  readonly place: PagePlace;
  /** Undefined if it is not known. */
  readonly application?: PageApplication | undefined;
}

/** The data of pages with forms. */
export interface FormView extends PageView {
  /** The tag of the language that the person has chosen at this login, or an empty string. */
  readonly chosenLanguage: string;
  readonly applicationName: string;
  readonly allowSignUp: boolean;
  readonly methods: readonly LoginMethod[];
  /** The address that the user entered before. */
  readonly email: string;
  /** What went wrong, or an empty string. */
  readonly alert: string;
  readonly figures: CodeFigures;
  readonly loginIntentId: string;
  /** Of the application, which pages know by it when the intent is gone. */
  readonly clientId: string;
  /** The path of the login page in its public URL. */
  readonly path: string;
  /** Binds the form to the browser's cookie. */
  readonly formToken: string;
  /** Whether the user with the e-mail address gets the wallet that has signed before. */
  readonly linksWallet: boolean;
}
