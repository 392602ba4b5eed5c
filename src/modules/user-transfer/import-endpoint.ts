/** `POST /admin/users.jsonl`: imports users, a line each, and answers a line for each as soon as it is stored. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { toCallError } from '../../api/call-errors.ts';
import type { CallOutcome } from '../../api/call-info.ts';
import { beginCall } from '../../api/call-log.ts';
import { requireRight } from '../../api/credentials.ts';
import { JSON_LINES } from '../../api/operations/exporter.ts';
import { sendServiceError } from '../../api/rest/rest.ts';
import { withAudit } from '../../domain/audit/audit-event.ts';
import { invalidField, ServiceError } from '../../domain/core/errors.ts';
import { oneOf } from '../../domain/core/text-rules.ts';
import { check, orDefault } from '../../domain/core/validation.ts';
import type { HttpContext, NodeResponse } from '../../http/http-context.ts';
import { Progress } from '../../progress.ts';
import type { Core } from '../module.ts';
import { onConflictRule } from './domain/batch-create-users.ts';
import type { ImportOptions } from './domain/import-lines.ts';
import { readLines } from './read-lines.ts';
import { type Counts, runImport } from './run-import.ts';

/** An import ends if its client sends nothing, or takes no answer, within this time. */
const STALL_MS = 60_000;

const flag = orDefault(oneOf(['true', 'false'] as const), 'false');
const rules = { dryRun: flag, notify: flag, onConflict: onConflictRule };

/** Returns a function that serves the import. One runs at a time: another gets `Service unavailable`. */
export function createImport(core: Core) {
  let isRunning = false;
  return async (context: HttpContext): Promise<void> => {
    let outcome: CallOutcome = { code: 'ok' };
    const route = { method: 'POST', path: context.path };
    const newCall = {
      name: `POST ${context.path}`,
      protocol: 'rest',
      route,
      requestTimeoutMs: core.requestTimeoutMs,
    } as const;
    const call = beginCall(core, context, newCall, () => outcome);
    const { response } = context;
    try {
      const actor = requireRight(core, context, []);
      outcome = { ...outcome, isAuthenticated: true };
      const options = readOptions(context.query);
      if (isRunning) throw new ServiceError('SERVICE_UNAVAILABLE');
      isRunning = true;
      context.allowLongBody();
      try {
        const { onSignedOut, passkeyHost: rpId, providers } = core;
        await importBody(core, context, actor, { ...options, issuers: providers.issuers, onSignedOut, rpId });
      } finally {
        isRunning = false;
      }
    } catch (cause) {
      const error = toCallError(cause, call, core.logger);
      if (!(error instanceof ServiceError)) throw error;
      outcome = { ...outcome, code: error.code, reason: error.reason, detail: error.detail };
      // Broken off, so that the client knows that lines are missing.
      if (response.headersSent) response.destroy();
      else sendServiceError(context, error);
    }
  };
}

async function importBody(core: Core, context: HttpContext, actor: string, options: ImportOptions): Promise<void> {
  const { request, response, requestId, clientAddress: ipAddress } = context;
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(), STALL_MS);
  const createCall = () => {
    // The server works: the client need not send anything.
    timer.refresh();
    const now = core.clock();
    const audit = {
      actorType: 'admin_key',
      actor,
      action: 'AdminService/CreateUser',
      ipAddress,
      requestId,
      now,
    } as const;
    const run = core.database.within(performance.now() + core.requestTimeoutMs);
    return { run: withAudit(run, audit), now, notices: core.notices, onMessage: core.onMessage };
  };
  const counts: Counts = { lines: 0, failed: 0 };
  const beganAt = performance.now();
  const describe = () => describeProgress(counts, performance.now() - beganAt);
  using progress = new Progress(() => core.logger.info({ ...counts }, 'import is running'));
  const signal = AbortSignal.any([core.closing, stalled.signal]);
  const onAbort = () => request.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const answers of runImport(readLines(request), createCall, options, counts)) {
      timer.refresh();
      progress.report(describe());
      if (!response.headersSent) writeHead(context);
      if (!write(response, answers)) await once(response, 'drain', { signal });
    }
  } catch (error) {
    if (signal.aborted || context.request.errored)
      throw new ServiceError(core.closing.aborted ? 'SERVICE_UNAVAILABLE' : 'CANCELED');
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    progress.end();
    core.logger.info({ ...counts, seconds: Math.round((performance.now() - beganAt) / 1_000) }, 'import ended');
  }
  if (!response.headersSent) writeHead(context);
  response.end();
}

/** The responses of HTTP/1.1 and HTTP/2 have the method under different types. */
function write(response: NodeResponse, text: string): boolean {
  return (response as Writable).write(text);
}

function writeHead({ commonHeaders, response }: HttpContext): void {
  const headers = { ...commonHeaders, 'content-type': JSON_LINES, 'cache-control': 'no-store' };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/** Such as `importing users: 12300 lines, 450 a second, 3 failed`. */
function describeProgress({ lines, failed }: Counts, ms: number): string {
  return `importing users: ${lines} lines, ${Math.round((lines * 1_000) / Math.max(ms, 1))} a second, ${failed} failed`;
}

function readOptions(query: string) {
  const parameters = [...new URLSearchParams(query)];
  for (const [name] of parameters)
    if (!Object.hasOwn(rules, name)) throw invalidField(name.slice(0, 64), 'is not a field of this request');
  const { dryRun, notify, onConflict } = check(Object.fromEntries(parameters), rules);
  return { dryRun: dryRun === 'true', notifies: notify === 'true', onConflict };
}
