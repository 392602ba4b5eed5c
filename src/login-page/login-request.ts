/** A request to the login page, as its actions see it. */
import type { Logger } from 'pino';
import type { ApiParts } from '../api/api.ts';
import type { LoginMethod } from '../config/login-methods.ts';
import type { Call } from '../domain/call.ts';
import type { WalletSettings } from '../domain/login/verify-wallet-signature.ts';
import type { RelyingParty } from '../domain/passkeys/relying-party.ts';
import type { ProviderLoginSettings } from '../domain/providers/begin-provider-login.ts';
import type { SharingSettings } from '../domain/remembered-sign-ins/usable-sign-in.ts';
import type { HttpContext } from '../http/http-context.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { AccountKeys } from './account/account-cookie.ts';
import type { KnownBrowser } from './browser-cookie.ts';
import { readCodeFigures } from './code-figures.ts';
import type { LanguageChoice } from './language-choice.ts';
import type { PagePlace } from './page-place.ts';

export interface LoginPageParts
  extends Pick<ApiParts, 'authPageUrl' | 'clock' | 'database' | 'tokens'>,
    ProviderLoginSettings,
    SharingSettings,
    WalletSettings {
  /** Encrypt the cookie of the account page. */
  readonly accountKeys: AccountKeys;
  /** Whether people may delete their account. */
  readonly allowAccountDeletion: boolean;
  readonly mailer: MailQueue;
  readonly methods: readonly LoginMethod[];
  /** Called once sessions of a user have ended. */
  readonly onSignedOut: (userId: string) => Promise<void>;
  readonly relyingParty: RelyingParty;
}

export function loginPathOf({ authPageUrl }: Pick<LoginPageParts, 'authPageUrl'>): string {
  return new URL(authPageUrl).pathname;
}

/** Parses a form or a query. Missing fields are empty strings. */
export function toFields(text: string) {
  const form = new URLSearchParams(text);
  const field = (name: string) => form.get(name) ?? '';
  return {
    loginIntentId: field('intent'),
    clientId: field('client_id'),
    token: field('token'),
    email: field('email').trim(),
    code: field('code'),
    address: field('address'),
    signature: field('signature'),
    name: field('name').trim(),
    /** Not empty if the user with the e-mail address gets what this browser has proved: `1` for a wallet, or a provider. */
    link: /^[a-z0-9-]{1,31}$/.test(field('link')) ? field('link') : '',
    /** The ID of the provider to sign in at. */
    provider: field('provider'),
    /** Of an identity that the account page removes. */
    issuer: field('issuer'),
    subject: field('subject'),
    /** Of a link in an e-mail. */
    linkToken: field('t'),
    /** Of the account page: whose sessions are ended. */
    application: field('application'),
    /** A browser in which the user is signed in there. */
    sid: field('sid'),
    /** What the login page has answered to the account page. */
    authToken: field('authToken'),
    state: field('state'),
    error: field('error'),
    /** What the login that the account page begins is for. */
    prompt: field('prompt'),
    /** What the account page says was done. */
    done: field('done'),
    /** The answer of a passkey, as JSON. */
    credential: field('credential'),
    passkeyId: field('id'),
    /** `1` if the browser can save a passkey on this device. */
    passkey: field('passkey'),
    /** `passkeys` if the person wants to see their passkeys after the sign-in. */
    next: field('then') === 'passkeys' ? 'passkeys' : '',
    /** The problem that the page shows: the previous form was refused. */
    problem: field('problem'),
    figures: readCodeFigures(field),
  };
}

export interface LoginRequest {
  readonly context: HttpContext;
  readonly logger: Logger;
  readonly call: Call;
  readonly browser: KnownBrowser;
  readonly languages: LanguageChoice;
  readonly place: PagePlace;
  readonly fields: ReturnType<typeof toFields>;
  readonly parts: LoginPageParts;
}
