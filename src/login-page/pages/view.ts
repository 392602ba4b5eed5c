import type { LoginMethod } from '../../config/login-methods.ts';
import type { CreationOptions } from '../../domain/passkeys/creation-options.ts';
import type { Passkey } from '../../domain/passkeys/passkey.ts';
import type { Language } from '../../texts/texts.ts';
import type { CodeFigures } from '../code-figures.ts';
import type { PageApplication } from '../page-application.ts';
import type { PagePlace } from '../page-place.ts';
import type { ProviderMark } from './provider-buttons.ts';

/** The data of every page. */
export interface PageView {
  readonly language: Language;
  readonly place: PagePlace;
  /** Undefined if it is not known. */
  readonly application?: PageApplication | undefined;
}

export interface ProviderView {
  readonly id: string;
  readonly name: string;
  readonly mark: ProviderMark;
}

/** What the script asks a passkey for. */
export interface PasskeyView {
  readonly challenge: string;
  readonly rpId: string;
  /** Whether the previous passkey was refused, and whether nobody knows it. */
  readonly problem: 'invalid' | 'unknown' | undefined;
}

/** The data of the pages that show and add passkeys after a sign-in. */
export interface PasskeysView extends LoginView {
  readonly host: string;
  readonly passkeys: readonly Passkey[];
  readonly options: CreationOptions;
}

export interface LoginView extends PageView {
  /** The tag of the language that the person has chosen at this login, or an empty string. */
  readonly chosenLanguage: string;
  readonly applicationName: string;
  /** What went wrong, or an empty string. */
  readonly alert: string;
  readonly loginIntentId: string;
  /** Of the application, which pages know by it when the intent is gone. */
  readonly clientId: string;
  /** The path of the login page in its public URL. */
  readonly path: string;
  /** Binds the form to the browser's cookie. */
  readonly formToken: string;
}

/** The data of pages with forms. */
export interface FormView extends LoginView {
  readonly figures: CodeFigures;
  readonly allowSignUp: boolean;
  readonly methods: readonly LoginMethod[];
  /** The address that the user entered before. */
  readonly email: string;
  /** Undefined where people cannot sign in with a passkey. */
  readonly passkey?: PasskeyView | undefined;
  /** `passkeys` if the person wants to see their passkeys after the sign-in. */
  readonly next?: string;
  /** What the user with the e-mail address gets: `1` for the wallet that has signed, the ID of a provider, or empty. */
  readonly link: string;
  /** Other providers to sign in at. */
  readonly providers: readonly ProviderView[];
}
