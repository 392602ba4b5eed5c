/** The pipeline of a call to an endpoint of OpenID Connect: deadline, errors, log, metrics and trace. */

import { unavailable } from '../../../api/call-errors.ts';
import type { CallInfo, CallRoute } from '../../../api/call-info.ts';
import { type CallLog, createAuditedCall, runCall, serveCall } from '../../../api/calls.ts';
import type { Database } from '../../../database/pool/database.ts';
import type { Actor } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import type { ServiceError } from '../../../domain/core/errors.ts';
import { HttpError } from '../../../http/errors.ts';
import { RETRY_SOON } from '../../../http/exchange.ts';
import type { HttpContext } from '../../../http/http-context.ts';
import { OidcError } from '../domain/oidc-error.ts';

export interface OidcCallParts extends CallLog {
  readonly clock: () => Date;
  readonly database: Database;
  readonly onMessage?: Call['onMessage'];
}

/** The part of a call that its endpoint uses. */
export interface OidcCall {
  readonly context: HttpContext;
  /** In milliseconds of `performance.now()`. */
  readonly deadline: number;
  /** Names the application in the log. */
  setApplication(applicationId: string, options?: { readonly isAuthenticated: boolean }): void;
  /** Reads the clock. Call this after the body has arrived, because a code may expire while a slow body arrives. */
  toDomainCall(actor: Omit<Actor, 'action'>, onWait?: () => void): Call;
}

/**
 * Runs the work, which sends the response, and resolves when the response is sent. Logs errors, and passes them to
 * `answerError`.
 */
export async function runOidcCall(
  parts: OidcCallParts,
  context: HttpContext,
  route: CallRoute,
  work: (call: OidcCall) => Promise<void>,
  answerError: (error: OidcError) => void,
): Promise<void> {
  const { clock, database, onMessage } = parts;
  const own = { clock, database, onMessage };
  const answer = (error: OidcError, info: CallInfo) => {
    const { code, reason, detail } = error;
    info.outcome = { ...info.outcome, code, reason, detail };
    answerError(error);
  };
  const serve = async (info: CallInfo) => {
    const { deadline, isGone, name } = info;
    const call: OidcCall = {
      context,
      deadline,
      setApplication(applicationId, { isAuthenticated } = { isAuthenticated: false }) {
        info.outcome = { ...info.outcome, applicationId, isAuthenticated };
      },
      toDomainCall: (actor, onWait) =>
        createAuditedCall(own, context, { ...actor, action: name }, { deadline, isGone, onWait }),
    };
    try {
      await runCall(info, () => work(call), unavailable);
    } catch (error) {
      if (!(error instanceof OidcError)) throw error;
      answer(error, info);
    }
  };
  await serveCall(parts, context, { protocol: 'oidc', route }, serve, (error, info) =>
    answer(toOidcError(error), info),
  );
}

function toOidcError(error: ServiceError | HttpError): OidcError {
  if (error instanceof HttpError) {
    // RFC 6749 defines only 400 for a body that is not a form.
    const status = error.reason === 'UNSUPPORTED_MEDIA_TYPE' ? 400 : error.status;
    return new OidcError('invalid_request', { description: error.message, status });
  }
  if (error.code === 'unavailable')
    return new OidcError('temporarily_unavailable', { headers: RETRY_SOON, detail: error.detail });
  if (error.code === 'internal') return new OidcError('server_error');
  return new OidcError('invalid_request', { description: error.message, detail: error.reason });
}
