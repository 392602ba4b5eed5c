/** A request to the login page or the account page, as actions get it. */
import type { Logger } from 'pino';
import type { ApiParts } from '../api/api.ts';
import type { LoginMethod } from '../config/login-methods.ts';
import type { AccountKeys } from '../domain/account/account-keys.ts';
import type { Call } from '../domain/core/call.ts';
import type { WalletSettings } from '../domain/login/verify-wallet-signature.ts';
import type { RelyingParty } from '../domain/passkeys/relying-party.ts';
import type { ProviderLoginSettings } from '../domain/providers/begin-provider-login.ts';
import type { SharingSettings } from '../domain/remembered-sign-ins/usable-sign-in.ts';
import type { HttpContext } from '../http/http-context.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { KnownBrowser } from './browser-cookie.ts';
import { readCodeFigures } from './code-figures.ts';
import type { LanguageChoice } from './language-choice.ts';
import type { NetworkLimit } from './oidc/network-limit.ts';
import type { PagePlace } from './page-place.ts';

export interface LoginPageParts
  extends Pick<ApiParts, 'authPageUrl' | 'clock' | 'database' | 'tokens'>,
    ProviderLoginSettings,
    SharingSettings,
    WalletSettings {
  /** The keys that encrypt the cookie of the account page. */
  readonly accountKeys: AccountKeys;
  /** Whether people may delete their account. */
  readonly allowAccountDeletion: boolean;
  /** The limit of logins that somebody who has not signed in begins: each stores a login intent. */
  readonly logins: NetworkLimit;
  readonly mailer: MailQueue;
  readonly notices: Call['notices'];
  readonly methods: readonly LoginMethod[];
  /** Called after sessions of a user have ended. */
  readonly onSignedOut: (userId: string) => void;
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
    /** What the user with the e-mail address gets: `1` for the wallet that has signed, a provider's ID for an account. */
    link: /^[a-z0-9-]{1,31}$/.test(field('link')) ? field('link') : '',
    /** The ID of the provider to sign in at. */
    provider: field('provider'),
    /** Issuer and subject of the identity that the account page removes. */
    issuer: field('issuer'),
    subject: field('subject'),
    /** The token in the link of an e-mail. */
    linkToken: field('t'),
    /** The ID of the application whose session the account page ends. */
    application: field('application'),
    /** The browser whose login at that application the account page ends. */
    sid: field('sid'),
    /** The answer of the login page to the account page: `authToken` and `state`, or `error` and `state`. */
    authToken: field('authToken'),
    state: field('state'),
    error: field('error'),
    /** The `prompt` of the login that the account page begins. */
    prompt: field('prompt'),
    /** Identifies a change of address on the account page. */
    changeId: field('change'),
    /** The change that the account page confirms. */
    done: field('done'),
    /** The answer of a passkey, as JSON. */
    credential: field('credential'),
    passkeyId: field('id'),
    /** `1` if the browser can save a passkey on this device. */
    passkey: field('passkey'),
    /** `passkeys` if the person wants to see their passkeys after the sign-in. */
    next: field('then') === 'passkeys' ? 'passkeys' : '',
    /** The key of the alert that the page shows, because the previous form was refused. */
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
