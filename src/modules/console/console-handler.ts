/** The HTTP handler of the console: finds the route, authorizes the operator, runs the route, and renders errors. */
import { Admission } from '../../api/admission.ts';
import type { CallInfo } from '../../api/call-info.ts';
import { serveCall } from '../../api/calls.ts';
import type { Envelope } from '../../api/envelope.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { HttpError } from '../../http/errors.ts';
import { sendJson } from '../../http/exchange.ts';
import type { HttpContext, HttpHandler } from '../../http/http-context.ts';
import { RouteTable } from '../../http/route-table.ts';
import type { ConsoleParts } from './console-parts.ts';
import { type ConsoleRequest, createOperatorCall } from './console-request.ts';
import { renderKept, sendFailurePage, sendProblem, sendRefusal, sendSignInPage } from './failure-page.ts';
import { sendFramed, sendNonOperatorPage } from './frame.ts';
import { isCrossOriginPart, isOwnRequest } from './own-origin.ts';
import { readConsoleForm } from './read-console-form.ts';
import { redirectTo } from './responses.ts';
import { type ConsoleRoute, type FoundRoute, findRoute, mayUse, type Reply } from './route.ts';
import { ROUTES } from './routes.ts';
import { SentForms } from './sent-forms.ts';
import { redirectUriOf } from './sign-in.ts';
import { findSignedIn, renewOperatorSession, type SignedInOperator } from './signed-in-operator.ts';
import { consoleApplication } from './statements/console-application.ts';

/** Limits requests in flight, because the calls of applications use the same connections to Postgres. */
const MAX_IN_FLIGHT = 20;

/** The route of all paths that have no page. */
const NO_ROUTE: ConsoleRoute = {
  method: 'GET',
  path: '*',
  role: 'anyone',
  run: async () => {
    throw new HttpError('NOT_FOUND');
  },
};

export function createConsoleHandler(parts: ConsoleParts): HttpHandler {
  const admission = new Admission({ min: MAX_IN_FLIGHT, max: MAX_IN_FLIGHT }, parts.requestTimeoutMs);
  const table = new RouteTable(ROUTES);
  const sentForms = new SentForms();
  return (context) => {
    const found = findRoute(table, context.request.method, context.path) ?? { route: NO_ROUTE, params: {} };
    const { route } = found;
    const isPost = route.method === 'POST';
    let request = createRequest(context, parts, found, '');
    const onSignedIn = (known: ConsoleRequest) => {
      request = known;
    };
    const work = async (call: CallInfo) => {
      if (API_PATH.test(context.path)) return refuseApiCall(context, parts, call);
      if (isPost ? !isOwnRequest(context, parts.consoleUrl) : isCrossOriginPart(context)) {
        call.outcome = { code: 'unauthenticated' };
        const heading = isPost
          ? 'This form was not sent from the console'
          : 'Pages of other origins cannot load this page';
        return sendProblem(request, 403, heading, false);
      }
      // Reads the body before admission, so that a browser that sends its form slowly takes no place.
      if (isPost) request = { ...request, ...(await readConsoleForm(context, call, route)) };
      await admission.run('', () => answer(request, found, { table, sentForms }, onSignedIn));
    };
    return serveCall(parts, context, { protocol: 'console', route }, work, (error) => {
      void sendFailurePage(request, error);
    });
  };
}

/** Paths of calls that were meant for the port of the API. */
const API_PATH = /^\/(?:api\/|usher\.v1\.|oidc\/|admin\/)/;

function refuseApiCall(context: HttpContext, { tokens }: ConsoleParts, call: CallInfo): void {
  call.outcome = { code: 'not_found' };
  const message = `This is the port of the console; the API is at ${tokens.issuer}`;
  sendJson(context, 404, JSON.stringify({ status: false, message, reason: 'NOT_FOUND' } satisfies Envelope));
}

async function answer(
  request: ConsoleRequest,
  found: FoundRoute,
  { table, sentForms }: { readonly table: RouteTable<ConsoleRoute>; readonly sentForms: SentForms },
  onSignedIn: (known: ConsoleRequest) => void,
): Promise<void> {
  const { context, parts, call } = request;
  const { route } = found;
  if (route.role === 'anyone') return sendReply(request, await run(request, route));
  const signedIn = await findSignedIn(context, call, parts, route.method);
  const page = pageOf(context, route, table);
  if (!signedIn) return askToSignIn(request, { to: page });
  if (!('role' in signedIn)) return void sendNonOperatorPage(context, signedIn, renderKept(request));
  const asOperator = {
    ...createRequest(context, parts, found, signedIn.userId),
    form: request.form,
    upload: request.upload,
    operator: signedIn,
  };
  // From here on, errors are shown inside the frame of the console.
  onSignedIn(asOperator);
  await renew(asOperator, signedIn);
  if (!mayUse(found, signedIn)) return sendRefusal(asOperator, route.role);
  if (route.isSensitive && !signedIn.isFresh) {
    return askToSignIn(asOperator, { to: page, fresh: '' });
  }
  const reply = () => run(asOperator, route);
  sendReply(asOperator, await sentForms.answer(asOperator, page, reply));
}

/** Redirects to the sign-in, except for a form with typed values: shows these, so that they can be sent again. */
function askToSignIn(request: ConsoleRequest, query: Record<string, string>): void {
  const kept = renderKept(request);
  if (kept) sendSignInPage(request, 'fresh' in query, kept);
  else redirectTo(request.context, `/login?${new URLSearchParams(query)}`);
}

/** Runs the route. Answers documented errors of a form with the page of the form, status 422. */
async function run(request: ConsoleRequest, route: ConsoleRoute): Promise<Reply> {
  return route.run(request).catch(async (error: unknown) => {
    const isOfForm = error instanceof ServiceError && error.code !== 'unavailable' && error.code !== 'internal';
    if (!isOfForm || !route.showForm) throw error;
    const page = await route.showForm({ ...request, problem: { error, form: request.form } });
    return { ...page, status: 422 };
  });
}

function sendReply(request: ConsoleRequest, reply: Reply): void {
  if (reply === 'sent') return;
  if ('redirect' in reply) redirectTo(request.context, reply.redirect);
  else sendFramed(request, reply);
}

async function renew({ context, parts }: ConsoleRequest, operator: SignedInOperator): Promise<void> {
  const call = createOperatorCall(context, parts, operator.userId, 'SessionService/RenewSession');
  const application = consoleApplication(redirectUriOf(parts));
  await renewOperatorSession(context, { ...call, application }, parts, operator);
}

/** Returns the page to return to after a sign-in. For a form, that is the page at its path, or else the nearest one above. */
function pageOf(context: HttpContext, { method }: ConsoleRoute, table: RouteTable<ConsoleRoute>): string {
  if (method === 'GET') return context.query ? `${context.path}?${context.query}` : context.path;
  const segments = context.path.split('/');
  const above = segments.map((_, index) => segments.slice(0, segments.length - index).join('/'));
  return above.find((path) => findRoute(table, 'GET', path)) ?? '/';
}

function createRequest(
  context: HttpContext,
  parts: ConsoleParts,
  { params }: FoundRoute,
  userId: string,
): ConsoleRequest {
  const call = createOperatorCall(context, parts, userId);
  const query = new URLSearchParams(context.query);
  return { context, parts, params, query, form: new URLSearchParams(), upload: undefined, call, operator: NOBODY };
}

/** The operator of a request before the session is checked. */
const NOBODY: SignedInOperator = {
  email: '',
  role: 'viewer',
  applicationIds: [],
  mayRecover: false,
  needsPasskey: false,
  userId: '',
  name: null,
  sessionId: '',
  isFresh: false,
};
