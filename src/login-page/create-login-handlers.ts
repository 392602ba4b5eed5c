import { Admission } from '../api/admission.ts';
import type { Config } from '../config/config.ts';
import type { Secrets } from '../config/secrets.ts';
import { deriveLoginCodeKeys } from '../domain/login/login-code.ts';
import { headerOf } from '../http/exchange.ts';
import type { HttpContext, PathHandler } from '../http/http-context.ts';
import { readLanguageChoice } from './language-choice.ts';
import { createLoginPage, type LoginPageServices } from './login-page.ts';
import type { LoginPageParts } from './login-request.ts';
import { createLogoHandler } from './logo.ts';
import type { PageOffer } from './page-offer.ts';
import type { PageParts } from './page-parts.ts';
import { sendErrorPage } from './responses.ts';

/** Limits requests in flight, because the calls of applications use the same connections to Postgres. */
const LIMITS = { min: 100, max: 100 };

/** Raises the limits if the terminal shows the codes, because people who try Usher sign in many times. */
const TRIAL_FACTOR = 100;

export function createLoginAdmission(requestTimeoutMs: number): Admission {
  return new Admission(LIMITS, requestTimeoutMs);
}

/** Returns the handlers of logos and, unless `AUTH_PAGE_URL` is set, of the login page. */
export function createLoginHandlers(
  config: Config,
  { encryptionKeys }: Pick<Secrets, 'encryptionKeys'>,
  services: LoginPageServices & Pick<LoginPageParts, 'logins'> & { readonly pages: PageParts },
  offers: readonly PageOffer[],
): PathHandler[] {
  const handlers = [createLogoHandler({ ...services, admission: services.loginAdmission })];
  if (config.authPageUrl === undefined) {
    const parts = { ...services, ...services.pages, ...createSignInParts(config, encryptionKeys) };
    handlers.push(createLoginPage(parts, offers));
  }
  // These handlers are asked last.
  return [...handlers, serveNotFoundPage];
}

/** Returns the methods, and the settings and keys of codes. */
function createSignInParts({ databaseUrl, loginMethods, smtp }: Config, encryptionKeys: Secrets['encryptionKeys']) {
  const limitFactor = databaseUrl === undefined && !smtp ? TRIAL_FACTOR : 1;
  return {
    codes: { keys: deriveLoginCodeKeys(encryptionKeys), limitFactor },
    methods: loginMethods,
  };
}

// The page at a path that nothing serves, for browsers. Programs get the error body.

/** A form that is sent there keeps the path, whatever it is. */
const SAME_PATH = { path: '?', query: [] };

/** Must be asked last. Only browsers name HTML as what they want. */
async function serveNotFoundPage(context: HttpContext): Promise<boolean> {
  const { method } = context.request;
  const isBrowser = /\btext\/html\b/i.test(headerOf(context, 'accept') ?? '');
  if ((method !== 'GET' && method !== 'HEAD') || !isBrowser || /^\/api(?:\/|$)/.test(context.path)) return false;
  const language = readLanguageChoice(context, context.query).languageFor();
  sendErrorPage(context, 'wrong-path', { language, place: SAME_PATH });
  return true;
}
