import { ServiceError } from '../../domain/core/errors.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { toCallError } from '../call-errors.ts';
import type { CallOutcome } from '../call-info.ts';
import { beginCall, type CallLog } from '../call-log.ts';
import { refuseUnlessRead } from '../envelope.ts';
import { sendServiceError } from '../rest/rest.ts';

/** Says that the caller has a valid credential. Only then is each call in the log. */
type Identify = (caller?: Pick<CallOutcome, 'applicationId'>) => void;

/** Runs a download as a call: with its log line, metrics and errors. `path` has names in place of parameters. */
export async function runExport(
  parts: CallLog & { readonly requestTimeoutMs: number },
  context: HttpContext,
  path: string,
  work: (identify: Identify) => Promise<void>,
): Promise<void> {
  if (refuseUnlessRead(context)) return;
  let outcome: CallOutcome = { code: 'ok' };
  const route = { method: 'GET', path };
  const { requestTimeoutMs } = parts;
  const newCall = { name: `GET ${path}`, protocol: 'rest', route, requestTimeoutMs } as const;
  const call = beginCall(parts, context, newCall, () => outcome);
  const identify: Identify = (caller = {}) => {
    outcome = { ...outcome, ...caller, isAuthenticated: true };
  };
  try {
    await work(identify);
  } catch (cause) {
    // Break the connection off, so that the client knows that the answer is incomplete.
    if (context.response.headersSent) context.response.destroy();
    const error = toCallError(cause, call, parts.logger);
    if (!(error instanceof ServiceError)) throw error;
    outcome = { ...outcome, code: error.code, reason: error.reason, detail: error.detail };
    if (!context.response.headersSent) sendServiceError(context, error);
  }
}
