/** Renders errors as pages: the problem, the request ID, and a form with the typed values. */

import { statusOfError } from '../../api/envelope.ts';
import type { Role } from '../../config/operators.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import type { HttpError } from '../../http/errors.ts';
import { type Html, html } from '../../http/html.ts';
import type { ConsoleRequest } from './console-request.ts';
import { sendCard, sendFramed } from './frame.ts';
import { isTyped, renderForm, SENDING_FIELD } from './parts/form.ts';
import type { ConsolePage } from './route.ts';
import { includesRole } from './signed-in-operator.ts';

/** Never rejects. */
export async function sendFailurePage(request: ConsoleRequest, error: ServiceError | HttpError): Promise<void> {
  const status = statusOf(error);
  const outages = status === 503 ? await request.parts.findOutages().catch(() => []) : [];
  const heading = outages.length > 0 ? 'The database does not answer' : headingOf(error);
  const content = html`${outages.length > 0 && renderOutages(request, outages)}${status === 503 && renderBusy(request)}`;
  sendProblem(request, status, heading, content);
}

/** Shown to visitors who are not signed in, too: without the database, nobody is. It has no user and no password. */
function renderOutages({ parts }: ConsoleRequest, outages: readonly string[]): Html {
  return html`<p>Usher needs the database <code>${parts.databaseName}</code>.</p>
${outages.map((outage) => html`<p class="alert"><code>${outage}</code></p>\n`)}`;
}

/** Answers that the role of the operator is too low, and names the needed role, or the word of `OPERATORS_FILE`. */
export function sendRefusal(request: ConsoleRequest, needed: Role): void {
  const { role } = request.operator;
  const isTeam = role === 'team';
  const text = !includesRole(role, needed)
    ? `It needs the role ${needed}, and you have the role ${role}.`
    : isTeam
      ? 'A team may use the pages of its own applications only.'
      : 'It needs the word recover in your line of OPERATORS_FILE.';
  sendProblem(request, 403, 'Your role does not allow this', html`<p>${text}</p>\n${renderKept(request)}`);
}

/** No form has more fields. Limits the size of the answer to visitors who are not signed in. */
const MAX_KEPT_FIELDS = 100;

/** Renders the typed values as a form that the operator can send later. False if nothing was typed. */
export function renderKept(request: ConsoleRequest): Html | false {
  const { form } = request;
  return (
    isTyped(form) &&
    form.size <= MAX_KEPT_FIELDS &&
    html`<p>What you typed is kept here. Send it again when you are allowed to.</p>\n${renderSendAgain(request)}`
  );
}

/** Asks for a sign-in before the kept form is sent again. */
export function sendSignInPage(request: ConsoleRequest, needsFresh: boolean, kept: Html): void {
  const [why, path] = needsFresh
    ? ['This needs a sign-in of the last 15 minutes.', '/login?fresh']
    : ['Your session has ended.', '/login'];
  const content = html`<p>${why} Sign in in a new tab, then return to this one.</p>
<p><a class="button" href="${path}" target="_blank">Sign in</a></p>
${kept}`;
  sendProblem(request, 401, 'Sign in, then send the form again', content);
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
  if (!(error instanceof ServiceError)) return error.status;
  return statusOfError(error.code, error.reason);
}

function headingOf(error: ServiceError | HttpError): string {
  if (!(error instanceof ServiceError)) return error.message;
  if (error.code === 'unavailable') return 'Usher is overloaded, or cannot reach its database';
  if (error.code === 'internal') return 'Something went wrong in Usher';
  const [violation] = error.violations;
  return violation ? `${violation.field} ${violation.message}` : error.message;
}

/** Renders what the operator can do. A file cannot be kept: a page cannot fill in a file field. */
function renderBusy(request: ConsoleRequest): Html {
  if (request.context.request.method !== 'POST' || request.upload) return html`<p>Try again in a moment.</p>`;
  return html`<p>The change may have been made. What you typed is kept here.</p>\n${renderSendAgain(request)}`;
}

/** Returns the page for a repeated form whose answer is no longer known: another process gave it, or it has expired. */
export function renderSentBefore(request: ConsoleRequest, back: string): ConsolePage {
  return {
    title: 'This form was sent before',
    status: 409,
    body: html`<div class="stack failure"><h1>This form was sent before</h1>
<p>It had no effect this time. <a href="${back}">Check the result of the first time</a>, and send the form again only if nothing has changed. If it created a key, the key was shown once: revoke it, and create another.</p>
${renderSendAgain(request)}</div>`,
  };
}

/** Renders a form that sends the typed values again. Its ID is new, so it does not count as repeated. */
function renderSendAgain({ context, form }: ConsoleRequest): Html {
  const typed = [...form].filter(([name]) => name !== SENDING_FIELD);
  return renderForm(
    context.path,
    html`${typed.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}<button>Send again</button>`,
  );
}
