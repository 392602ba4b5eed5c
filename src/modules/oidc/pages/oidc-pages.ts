/** The HTTP handler of the pages of OpenID Connect, to which applications send browsers: limits and errors. */
import type { Admission } from '../../../api/admission.ts';
import type { HttpContext, PathHandler } from '../../../http/http-context.ts';
import { STRICT_TRANSPORT_SECURITY } from '../../../http/tls.ts';
import { keepParameters, readLanguageChoice, rememberLanguage } from '../../../login-page/browser/language-choice.ts';
import { NetworkLimit } from '../../../login-page/browser/network-limit.ts';
import { readPostedForm } from '../../../login-page/offer/login-context.ts';
import { sendErrorPage } from '../../../login-page/pages/responses.ts';
import { OidcClients } from '../clients/oidc-clients.ts';
import { CONSENT_PATH, DEVICE_PATHS } from '../domain/authorization/authorization-answer.ts';
import { AUTHORIZE_PARAMETERS } from '../domain/authorization/authorization-request.ts';
import type { OidcError } from '../domain/oidc-error.ts';
import { Parameters } from '../domain/parameters.ts';
import { type OidcCallParts, runOidcCall } from '../endpoints/oidc-call.ts';
import { authorize } from './authorize.ts';
import { askForConsent } from './consent.ts';
import { approveDevice, enterUserCode, showDeviceRequest } from './device.ts';
import { LOGOUT_PARAMETERS, logOut } from './log-out.ts';
import { AnsweredError, type OidcPage, type OidcPageParts, PageProblem } from './oidc-page.ts';
import { returnToApplication } from './send-answer.ts';

const PAGES: readonly OidcPage[] = [
  { path: '/oidc/authorize', methods: ['GET', 'POST'], needs: AUTHORIZE_PARAMETERS, run: authorize },
  { path: CONSENT_PATH, methods: ['GET', 'POST'], needs: ['login'], run: askForConsent },
  { path: '/oidc/logout', methods: ['GET', 'POST'], needs: LOGOUT_PARAMETERS, run: logOut },
  { path: '/oidc/return', methods: ['GET'], needs: ['code', 'intent', 'error'], run: returnToApplication },
  { path: '/device', methods: ['GET', 'POST'], needs: ['user_code'], run: enterUserCode },
  { path: DEVICE_PATHS.request, methods: ['GET', 'POST'], needs: ['request'], run: showDeviceRequest },
  { path: DEVICE_PATHS.approval, methods: ['GET', 'POST'], needs: ['code'], run: approveDevice },
];

const MAX_FORM_BYTES = 16_384;

interface OidcPagesOptions extends OidcCallParts, Omit<OidcPageParts, 'clients' | 'logouts'> {
  readonly admission: Admission;
}

/** The audit log stores no addresses of users: they are personal data, which only sessions store. */
const BY_PERSON = { actorType: 'login_page', actor: '' } as const;

export function createOidcPages(options: OidcPagesOptions): PathHandler {
  const { issuer } = options.tokens;
  const isSecure = issuer.startsWith('https:');
  const base = new URL(issuer).pathname.replace(/\/$/, '');
  const { database, requestTimeoutMs } = options;
  const clients = new OidcClients(database.eachWithin(requestTimeoutMs));
  // A logout writes to the rows of the user. It has its own permits, so that logouts cannot use up those of logins.
  const logouts = new NetworkLimit();
  const parts = { ...options, clients, logouts };
  return async (context) => {
    const page = PAGES.find(({ path }) => path === context.path);
    if (!page) return false;
    // From now on the browser uses https only (RFC 6797).
    if (isSecure) context.response.setHeader('strict-transport-security', STRICT_TRANSPORT_SECURITY);
    await serve(page, context, { isSecure, base, parts });
    return true;
  };
}

interface Site {
  readonly isSecure: boolean;
  /** The path of the public URL, without a slash at the end. */
  readonly base: string;
  readonly parts: OidcPagesOptions & OidcPageParts;
}

async function serve(page: OidcPage, context: HttpContext, { isSecure, base, parts }: Site): Promise<void> {
  const { request, path, query } = context;
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
  const known = page.methods.find((each) => each === method);
  let form = query;
  const viewOf = () => {
    const languages = readLanguageChoice(context, form);
    const locale = new URLSearchParams(form).get('ui_locales');
    // A link to the page itself repeats nothing.
    const retry = method === 'GET' ? { retry: '' } : {};
    return { languages, locale, place: { path: base + path, query: keepParameters(form, page.needs), ...retry } };
  };
  const showError = (error: OidcError) => {
    if (error instanceof AnsweredError) return;
    const { languages, locale, place } = viewOf();
    const kind = error instanceof PageProblem ? error.page : error.status >= 500 ? 'unavailable' : 'bad-request';
    // The place has no parameters of a form that was too large: it was not read.
    sendErrorPage(context, kind, { language: languages.languageFor(locale), place }, error.status);
  };
  const route = { method: known ?? 'other', path };
  await runOidcCall(
    parts,
    context,
    route,
    async (oidcCall) => {
      if (!known) {
        context.response.setHeader('allow', [...page.methods, 'HEAD'].join(', '));
        throw new PageProblem('bad-request', 'invalid_request', 405);
      }
      if (known === 'POST') form = await readPostedForm(context, MAX_FORM_BYTES, oidcCall.deadline);
      const { languages, place } = viewOf();
      rememberLanguage(context, languages, isSecure);
      const toLanguage = (locale?: string | null) => languages.languageFor(locale).tag;
      const notices = parts.notices && { ...parts.notices, toLanguage };
      const call = { ...oidcCall.toDomainCall(BY_PERSON), notices };
      const parameters = new Parameters(form);
      const pageRequest = { context, oidcCall, call, parameters, form, languages, place, isSecure, parts };
      // Admission begins here, so that a browser that sends its form slowly does not count.
      await parts.admission.run('', () => page.run(pageRequest));
    },
    showError,
  );
}
