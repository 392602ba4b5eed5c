import { Admission } from '../api/admission.ts';
import { type CallLog, serveCall } from '../api/calls.ts';
import { refuseMethod, sendFailure } from '../api/envelope.ts';
import type { Config } from '../config/config.ts';
import type { Secrets } from '../config/secrets.ts';
import type { Database } from '../database/pool/database.ts';
import { findLogo, LOGO_PATH } from '../domain/applications/find-logo.ts';
import { deriveLoginCodeKeys } from '../domain/login/login-code.ts';
import { headerOf, INERT_HEADERS, send } from '../http/exchange.ts';
import type { HttpContext, PathHandler } from '../http/http-context.ts';
import { type HttpRoute, serveRoutes } from '../http/route-table.ts';
import { readLanguageChoice } from './browser/language-choice.ts';
import { createLoginPage, type LoginPageServices } from './login-page.ts';
import type { LoginPageParts, PageParts } from './offer/login-request.ts';
import type { PageOffer } from './offer/page-offer.ts';
import { sendErrorPage } from './pages/responses.ts';

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

/** A form that is sent there keeps the path, whatever it is. */
const SAME_PATH = { path: '?', query: [] };

/** Answers browsers, which name HTML as what they want. Must be asked last. Programs get the error body. */
async function serveNotFoundPage(context: HttpContext): Promise<boolean> {
  const { method } = context.request;
  const isBrowser = /\btext\/html\b/i.test(headerOf(context, 'accept') ?? '');
  if ((method !== 'GET' && method !== 'HEAD') || !isBrowser || /^\/api(?:\/|$)/.test(context.path)) return false;
  const language = readLanguageChoice(context, context.query).languageFor();
  sendErrorPage(context, 'wrong-path', { language, place: SAME_PATH });
  return true;
}

const ROUTE = { method: 'GET', path: `${LOGO_PATH}/:applicationId/:theme/:digest` };

const LOGO_HEADERS = { ...INERT_HEADERS, 'cache-control': 'public, max-age=31536000, immutable' };

interface LogoParts extends CallLog {
  /** Shared with the login page: neither needs a credential. */
  readonly admission: Admission;
  readonly clock: () => Date;
  readonly database: Database;
}

/** Returns the handler of the logos of applications, which are served also if `AUTH_PAGE_URL` is set. */
function createLogoHandler(parts: LogoParts): PathHandler {
  const { admission, clock, database } = parts;
  const newCall = { name: `GET ${LOGO_PATH}`, protocol: 'login', route: ROUTE } as const;
  const run: HttpRoute['run'] = (context, { applicationId = '', theme = '', digest = '' }) =>
    serveCall(parts, context, newCall, async ({ deadline }) => {
      const call = { run: database.within(deadline), now: clock() };
      const logo = await admission.run('', () => findLogo(call, { applicationId, theme, digest }));
      if (logo) send(context, 200, logo.image, { ...LOGO_HEADERS, 'content-type': logo.mediaType });
      else sendFailure(context, 'NOT_FOUND');
    });
  return serveRoutes([{ ...ROUTE, run }], refuseMethod);
}
