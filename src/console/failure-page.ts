/** Errors as pages: what happened, the request ID, and a way back. What was typed is kept. */
import { ServiceError } from '../domain/errors.ts';
import type { HttpError } from '../http/errors.ts';
import { type Html, html } from '../http/html.ts';
import type { ConsoleRequest } from './console-request.ts';
import { sendCard, sendFramed } from './frame.ts';

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

export function sendFailurePage(request: ConsoleRequest, problem: ServiceError | HttpError | number, title = ''): void {
  const { context, operator } = request;
  const status = typeof problem === 'number' ? problem : statusOf(problem);
  const heading = typeof problem === 'number' ? title : describe(problem);
  const body = html`${status === 503 && renderAgain(request)}
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

/** Sends the same again: a page by its link, a form by a form with what was typed. Only its operator can choose a file again. */
function renderAgain({ context, form, upload }: ConsoleRequest): Html {
  if (context.request.method !== 'POST' || upload) return html`<p>Try again in a moment.</p>`;
  return html`<p>It is not sure whether this was done. What you typed is kept here.</p>
<form method="post" action="${context.path}">
${[...form].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}<button>Send again</button>
</form>`;
}
