/** Errors as pages: what happened, the request ID, and a way back. What was typed is kept. */
import type { Role } from '../config/operators.ts';
import { ServiceError } from '../domain/errors.ts';
import type { HttpError } from '../http/errors.ts';
import { type Html, html } from '../http/html.ts';
import type { ConsoleRequest } from './console-request.ts';
import { sendCard, sendFramed } from './frame.ts';
import { isTyped, renderForm, SENDING_FIELD } from './parts/form.ts';
import type { ConsolePage } from './route.ts';
import { includesRole } from './signed-in-operator.ts';

const STATUSES: Partial<Record<ServiceError['code'], number>> = {
  invalid_argument: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 409,
  resource_exhausted: 429,
  internal: 500,
  unavailable: 503,
  deadline_exceeded: 503,
};

export function sendFailurePage(request: ConsoleRequest, error: ServiceError | HttpError): void {
  const status = statusOf(error);
  sendProblem(request, status, describe(error), status === 503 && renderBusy(request));
}

/** Says which role would be enough. */
export function sendRefusal(request: ConsoleRequest, needed: Role): void {
  const { role } = request.operator;
  const text =
    role === 'team' && includesRole(role, needed)
      ? 'A team may use the pages of its own applications only.'
      : `It needs the role ${needed}, and you have the role ${role}.`;
  sendProblem(request, 403, 'Your role does not allow this', html`<p>${text}</p>\n${renderKept(request)}`);
}

/** More than a form of any page has. Whoever is not signed in gets no long answer. */
const MAX_KEPT_FIELDS = 100;

/** Renders a form in which something was typed, so that its operator can send it once that is allowed. */
export function renderKept(request: ConsoleRequest): Html | false {
  const { form } = request;
  return (
    isTyped(form) &&
    form.size <= MAX_KEPT_FIELDS &&
    html`<p>What you typed is kept here. Send it again once you may.</p>\n${renderAgain(request)}`
  );
}

/** Keeps a form whose operator has to sign in first. */
export function sendSignInPage(request: ConsoleRequest, needsFresh: boolean, kept: Html): void {
  const [why, path] = needsFresh
    ? ['This needs a sign-in of the last 15 minutes.', '/login?fresh']
    : ['Your session has ended.', '/login'];
  const content = html`<p>${why} Sign in in a new tab, and come back.</p>
<p><a class="button" href="${path}" target="_blank">Sign in</a></p>
${kept}`;
  sendProblem(request, 401, 'Sign in, then send it again', content);
}

export function sendProblem(request: ConsoleRequest, status: number, heading: string, content: Html | false): void {
  const { context, operator } = request;
  const body = html`${content}
<p class="soft">Request ID: <code>${context.requestId}</code></p>
<p><a class="button second" href="/">To the overview</a></p>`;
  if (operator.userId === '') sendCard(context, status, heading, body);
  else
    sendFramed(request, {
      title: heading,
      status,
      body: html`<div class="stack failure"><h1>${heading}</h1>\n${body}</div>`,
    });
}

function statusOf(error: ServiceError | HttpError): number {
  return error instanceof ServiceError ? (STATUSES[error.code] ?? 500) : error.status;
}

function describe(error: ServiceError | HttpError): string {
  if (!(error instanceof ServiceError)) return error.message;
  if (error.code === 'unavailable' || error.code === 'deadline_exceeded') return 'Usher is busy, or has no database';
  if (error.code === 'internal') return 'Something went wrong in Usher';
  const [violation] = error.violations;
  return violation ? `${violation.field} ${violation.message}` : error.message;
}

/** Only its operator can choose a file again. */
function renderBusy(request: ConsoleRequest): Html {
  if (request.context.request.method !== 'POST' || request.upload) return html`<p>Try again in a moment.</p>`;
  return html`<p>It is not sure whether this was done. What you typed is kept here.</p>\n${renderAgain(request)}`;
}

/** Returns a page for a form whose answer is gone: another process gave it, or it is too long ago. */
export function renderSentBefore(request: ConsoleRequest, back: string): ConsolePage {
  return {
    title: 'This form was sent before',
    status: 409,
    body: html`<div class="stack failure"><h1>This form was sent before</h1>
<p>It was not done again. <a href="${back}">See what it has done</a>, and send it again only if nothing was. A key that it created was shown once: revoke it, and create another.</p>
${renderAgain(request)}</div>`,
  };
}

/** Renders a form that sends what was typed once more. */
function renderAgain({ context, form }: ConsoleRequest): Html {
  const typed = [...form].filter(([name]) => name !== SENDING_FIELD);
  return renderForm(
    context.path,
    html`${typed.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}<button>Send again</button>`,
  );
}
