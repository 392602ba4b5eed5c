/** Serves the logos of applications, also if `AUTH_PAGE_URL` is set. */
import type { Admission } from '../api/admission.ts';
import { outcomeOf, toCallError } from '../api/call-errors.ts';
import type { CallOutcome } from '../api/call-info.ts';
import { beginCall, type CallLog, runInSpan } from '../api/call-log.ts';
import { refuseUnlessRead, sendFailure } from '../api/envelope.ts';
import { sendEnvelope } from '../api/rest/rest.ts';
import type { Database } from '../database/pool/database.ts';
import { findLogo } from '../domain/applications/find-logo.ts';
import { LOGO_PATH } from '../domain/applications/logo-path.ts';
import { RETRY_SOON, send } from '../http/exchange.ts';
import type { HttpContext, PathHandler } from '../http/http-context.ts';

const ROUTE = { method: 'GET', path: `${LOGO_PATH}/:applicationId/:theme/:digest` };

/** A browser that opens the URL itself, or takes the image for a document, must run nothing and load nothing. */
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

interface LogoParts extends CallLog {
  /** Shared with the login page: neither needs a credential. */
  readonly admission: Admission;
  readonly clock: () => Date;
  readonly database: Database;
  readonly requestTimeoutMs: number;
}

export function createLogoHandler(parts: LogoParts): PathHandler {
  return async (context) => {
    if (!context.path.startsWith(`${LOGO_PATH}/`)) return false;
    if (!refuseUnlessRead(context)) await serve(context, parts);
    return true;
  };
}

async function serve(context: HttpContext, { admission, clock, database, requestTimeoutMs, ...log }: LogoParts) {
  let outcome: CallOutcome = { code: 'ok' };
  const newCall = { name: `GET ${LOGO_PATH}`, protocol: 'login', route: ROUTE, requestTimeoutMs } as const;
  const call = beginCall(log, context, newCall, () => outcome);
  try {
    const [applicationId = '', theme = '', digest = '', ...others] = context.path
      .slice(LOGO_PATH.length + 1)
      .split('/');
    const domainCall = { run: database.within(call.deadline), now: clock() };
    const find = () => admission.run('', () => findLogo(domainCall, { applicationId, theme, digest }));
    const logo = others.length === 0 ? await runInSpan(call.span, find) : undefined;
    if (logo) send(context, 200, logo.image, { ...HEADERS, 'content-type': logo.mediaType });
    else sendFailure(context, 'NOT_FOUND');
  } catch (cause) {
    const error = runInSpan(call.span, () => toCallError(cause, call, log.logger));
    outcome = outcomeOf(error);
    const envelope = { status: false, message: error.message, reason: error.reason };
    sendEnvelope(context, outcome.code === 'internal' ? 500 : 503, envelope, RETRY_SOON);
  }
}
