/** A request to the login page or the account page, as actions get it. */
import type { Logger } from 'pino';
import type { ApiParts } from '../api/api.ts';
import type { LoginMethod } from '../config/login-methods.ts';
import type { AccountKeys } from '../domain/account/account-keys.ts';
import type { Call } from '../domain/core/call.ts';
import type { SignUpRules } from '../domain/login/sign-up-rules.ts';
import type { WalletSettings } from '../domain/login/verify-wallet-signature.ts';
import type { SharingSettings } from '../domain/remembered-sign-ins/usable-sign-in.ts';
import type { HttpContext } from '../http/http-context.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { KnownBrowser } from './browser-cookie.ts';
import { readCodeFigures } from './code-figures.ts';
import type { LanguageChoice } from './language-choice.ts';
import type { NetworkLimit } from './network-limit.ts';
import type { PagePlace } from './page-place.ts';
import type { SignInWays } from './sign-in-ways.ts';

export interface LoginPageParts
  extends Pick<ApiParts, 'authPageUrl' | 'clock' | 'database' | 'providers' | 'tokens'>,
    SharingSettings,
    WalletSettings {
  /** The keys that encrypt the cookie of the account page. */
  readonly accountKeys: AccountKeys;
  /** Whether people may delete their account. */
  readonly allowAccountDeletion: boolean;
  /** The first pages of applications of Usher's own, by application ID. */
  readonly homes: ReadonlyMap<string, string>;
  /** The limit of logins that somebody who has not signed in begins: each stores a login intent. */
  readonly logins: NetworkLimit;
  readonly mailer: MailQueue;
  readonly notices: Call['notices'];
  readonly methods: readonly LoginMethod[];
  /** Called after sessions of a user have ended. */
  readonly onSignedOut: (userId: string) => void;
  readonly signInWays: SignInWays;
  readonly signUps: SignUpRules;
}

export function loginPathOf({ authPageUrl }: Pick<LoginPageParts, 'authPageUrl'>): string {
  return new URL(authPageUrl).pathname;
}

/** Reads the fields that lead through all pages of a login. Missing ones are empty strings. @param form or the query */
export function readLoginFields(form: URLSearchParams) {
  const field = (name: string) => form.get(name) ?? '';
  return {
    loginIntentId: field('intent'),
    clientId: field('client_id'),
    token: field('token'),
    email: field('email').trim(),
    /** What the user with the e-mail address gets: `1` for the wallet that has signed, a provider's ID for an account. */
    link: /^[a-z0-9-]{1,31}$/.test(field('link')) ? field('link') : '',
    /** The ID of the provider to sign in at. */
    provider: field('provider'),
    /** The page that the person wants to see after the sign-in. */
    next: field('then') === 'passkeys' ? 'passkeys' : '',
    /** The key of the alert that the page shows, because the previous form was refused. */
    problem: field('problem'),
    figures: readCodeFigures(field),
  };
}

/** Reads the fields of one action. Missing ones are empty strings. */
export function pickFields<Name extends string>(
  { form }: Pick<LoginRequest, 'form'>,
  ...names: readonly Name[]
): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, form.get(name) ?? ''])) as Record<Name, string>;
}

export interface LoginRequest {
  readonly context: HttpContext;
  readonly logger: Logger;
  readonly call: Call;
  readonly browser: KnownBrowser;
  readonly languages: LanguageChoice;
  readonly place: PagePlace;
  /** The posted form, or the query. */
  readonly form: URLSearchParams;
  readonly fields: ReturnType<typeof readLoginFields>;
  readonly parts: LoginPageParts;
}
