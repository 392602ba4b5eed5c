/** The HTTP handler of the login page: limits, CSRF checks and errors, for all actions of `actions.ts`. */
import type { Admission } from '../api/admission.ts';
import type { CallInfo } from '../api/call-info.ts';
import { type CallLog, createAuditedCall, serveCall } from '../api/calls.ts';
import { ServiceError } from '../domain/core/errors.ts';
import { HttpError } from '../http/errors.ts';
import type { HttpContext, PathHandler } from '../http/http-context.ts';
import { RouteTable } from '../http/route-table.ts';
import { STRICT_TRANSPORT_SECURITY } from '../http/tls.ts';
import { ACTIONS } from './actions.ts';
import { bindAnswer, identifyBrowser, isOwnForm } from './browser/browser-cookie.ts';
import { placeOf, readLanguageChoice, rememberLanguage } from './browser/language-choice.ts';
import { keepRefusal } from './offer/keep-attempt.ts';
import { readLoginFields, readPostedForm } from './offer/login-context.ts';
import {
  type Action,
  type LoginPageParts,
  type LoginRequest,
  loginPathOf,
  type Remark,
} from './offer/login-request.ts';
import { createPartActions, type PageOffer } from './offer/page-offer.ts';
import { refuse, sendErrorPage } from './pages/responses.ts';
import type { PageView } from './pages/view.ts';
import { answerProblem, showDeadEnd } from './show-form.ts';

const MAX_FORM_BYTES = 8_192;

/** What the login page shares with the rest of the server. */
export interface LoginPageServices
  extends CallLog,
    Pick<
      LoginPageParts,
      | 'authPageUrl'
      | 'clock'
      | 'database'
      | 'mailer'
      | 'notices'
      | 'onSignedOut'
      | 'providers'
      | 'signUps'
      | 'tokens'
      | 'unknownAddresses'
    > {
  /** Limits requests of browsers in flight. */
  readonly loginAdmission: Admission;
}

type LoginPageOptions = LoginPageServices & LoginPageParts;

/** @param offers of all parts */
export function createLoginPage(options: LoginPageOptions, offers: readonly PageOffer[]): PathHandler {
  const actions = [...ACTIONS, ...createPartActions(offers)];
  const table = new RouteTable(actions.filter(({ needs }) => !needs || options.methods.includes(needs)));
  const folders = new Set(actions.map(({ path }) => path.split('/')[1]));
  const isSecure = options.authPageUrl.startsWith('https:');
  return async (context) => {
    if (!folders.has(context.path.split('/')[1])) return false;
    // From now on the browser uses https only (RFC 6797).
    if (isSecure) context.response.setHeader('strict-transport-security', STRICT_TRANSPORT_SECURITY);
    const action = table.find(context.request.method, context.path)?.row;
    if (action) await serve(action, context, isSecure, options);
    else if (OF_LOGIN.test(context.query)) await serve(NOT_FOUND, context, isSecure, options);
    else sendErrorPage(context, 'not-found', viewOf(context, context.query, options));
    return true;
  };
}

/** Matches a query that may identify an application. */
const OF_LOGIN = /(?:^|&)(?:intent|client_id)=/;

/** The action of all paths that have no page. */
const NOT_FOUND: Action = {
  method: 'GET',
  path: '/login/*',
  form: 'choice',
  run: (request) => showDeadEnd(request, 'not-found'),
};

async function serve(action: Action, context: HttpContext, isSecure: boolean, parts: LoginPageOptions): Promise<void> {
  let form = context.query;
  const identified = identifyBrowser(context, isSecure);
  const work = async (call: CallInfo) => {
    if (action.method === 'POST') form = await readPostedForm(context, MAX_FORM_BYTES, call.deadline);
    const parameters = new URLSearchParams(form);
    const fields = { ...readLoginFields(parameters), ...action.readFields?.(context, form) };
    const browser = bindAnswer(context, identified, action.method === 'POST' ? form : undefined);
    const languages = readLanguageChoice(context, form);
    rememberLanguage(context, languages, isSecure);
    const place = placeOf(context, form, loginPathOf(parts));
    const { clock, count, database, logger, loginAdmission } = parts;
    const toLanguage = (locale?: string | null) => languages.languageFor(locale).tag;
    const notices = parts.notices && { ...parts.notices, toLanguage };
    const own = { clock, count, database, notices };
    const domainCall = createAuditedCall(own, context, { actorType: 'login_page', actor: '', action: call.name }, call);
    const note = ({ reason, detail }: Remark) => {
      call.outcome = { ...call.outcome, reason, detail };
    };
    const shown = { context, logger, browser, languages, place, form: parameters, fields };
    const request = { ...shown, call: domainCall, parts, note };
    const isForged = action.method === 'POST' && !isOwnForm(browser, fields.token);
    if (isForged) call.outcome = { code: 'unauthenticated' };
    // Admission begins here, so that a browser that sends its form slowly does not count.
    await loginAdmission.run('', () => (isForged ? refuseForm(action, request) : runAction(action, request)));
  };
  // Not the method of the request: over HTTP/2 a client may make one up, and each is a series of metrics.
  await serveCall(parts, context, { protocol: 'login', route: action }, work, (error) => {
    const view = viewOf(context, form, parts);
    if (error instanceof HttpError) refuse(action.form, context, 'bad-request', view, error.status);
    else refuse(action.form, context, 'unavailable', view, error.code === 'internal' ? 500 : 503);
  });
}

/** Refuses a form that does not come from a page which Usher showed to this browser. */
async function refuseForm(action: Action, request: LoginRequest): Promise<void> {
  const kind = request.browser.isNew ? 'no-cookie' : 'stale-form';
  if (action.form !== 'script') await showDeadEnd(request, kind);
  else refuse(action.form, request.context, kind, { language: request.languages.languageFor(), place: request.place });
}

/** Returns the view of a page outside of a login. */
function viewOf(context: HttpContext, form: string, parts: LoginPageParts): PageView {
  const language = readLanguageChoice(context, form).languageFor();
  return { language, place: placeOf(context, form, loginPathOf(parts)) };
}

/** Runs the action, and shows documented errors on the page. Notes the error or the remark of the action. */
async function runAction(action: Action, request: LoginRequest): Promise<void> {
  try {
    const remark = await action.run(request);
    if (remark) request.note(remark);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // Before the answer: the call ends with it, and has its log line then, while the attempt is still being stored.
    request.note(error);
    await answerProblem(request, action.form, error);
    if (action.signsInBy) await keepRefusal(request, action.signsInBy, error);
  }
}
