/**
 * The pipeline of a unary call, the same over every protocol: credential, admission, deadline, read, handle, log. The
 * edge of a protocol passes a function that reads the request, and then writes the response or the error.
 */

import type { Database, Run } from '../database/pool/database.ts';
import { NO_APPLICATION } from '../database/schema/audit-schema.ts';
import type { ApiKeys } from '../domain/api-keys/api-keys.ts';
import type { Actor } from '../domain/audit/audit-event.ts';
import type { Call, Transactional } from '../domain/core/call.ts';
import type { RowCipher } from '../domain/crypto/aes-gcm.ts';
import type { AdminKeys } from '../domain/operators/admin-keys.ts';
import type { Peer } from '../domain/sessions/session.ts';
import { headerOf } from '../http/exchange.ts';
import type { RequestContext } from '../http/http-context.ts';
import type { Admission } from './admission.ts';
import { deadlineExceeded, unavailable } from './call-errors.ts';
import type { CallInfo, CallRoute, Fields, Protocol, ResponseMessage } from './call-info.ts';
import { beginCall, type CallLog, createAuditedCall, failCall, runCall } from './calls.ts';
import { requireAdmin, requireApplication } from './credentials.ts';
import { handleOnce, type KeyedCall, readIdempotencyKey } from './idempotency.ts';
import type { Procedure } from './procedures.ts';

export interface PipelineParts extends CallLog {
  readonly adminKeys: AdminKeys;
  /** Limits calls with an API key, by application. */
  readonly admission: Admission;
  readonly apiKeys: ApiKeys;
  /** Encrypts the answers that are kept for repeated calls. */
  readonly cipher: RowCipher;
  readonly clock: () => Date;
  /** Limits look-ups of API keys, together: the application of a key is known only after its look-up. */
  readonly lookUps: Admission;
  readonly database: Database;
  readonly notices: Call['notices'];
  readonly onMessage: Call['onMessage'];
}

export interface CallOptions {
  readonly protocol: Protocol;
  readonly route?: CallRoute;
  /** The timeout that the caller set, if any. */
  readonly timeoutMs?: number | undefined;
}

/** Reads the request by the deadline, in milliseconds of `performance.now()`. @throws errors that the edge answers */
export type ReadRequest = (deadline: number) => Promise<Fields>;

export class Pipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Returns the response message. @throws ServiceError, or the HttpError that `read` threw */
  async runUnary(
    procedure: Procedure,
    context: RequestContext,
    options: CallOptions,
    read: ReadRequest,
  ): Promise<ResponseMessage> {
    const { admission, logger, lookUps } = this.#parts;
    const { method, name, action, takesKey, deletedReason } = procedure;
    const peer = toPeer(context);
    let isReading = false;
    const call = beginCall(this.#parts, context, { ...options, name });

    // The caller is responsible for its own deadline and for a late body. Otherwise Usher was too slow.
    const timeoutError = () => (call.isCallersDeadline || isReading ? deadlineExceeded() : unavailable());
    const readFields = async () => {
      // The look-up of the key may have used up the time.
      if (performance.now() >= call.deadline) throw timeoutError();
      isReading = true;
      const fields = await read(call.deadline);
      isReading = false;
      return fields;
    };
    const readKey = () => {
      const header = takesKey ? headerOf(context, 'idempotency-key') : undefined;
      return header === undefined ? undefined : readIdempotencyKey(header);
    };
    const work = async () => {
      if (procedure.credential === 'apiKey') {
        const owner = await lookUps.run('', () => requireApplication(this.#parts, context, { deletedReason }));
        const { application } = owner;
        const applicationId = application.id;
        call.outcome = { code: 'ok', applicationId, isAuthenticated: true };
        admission.check(applicationId);
        const key = readKey();
        // Read the body before `run` takes a place: a caller with a slow body would occupy the place for long.
        const fields = await readFields();
        const actor = { actorType: 'api_key', actor: owner.apiKeyId, action } as const;
        const handle = (own: Call & Transactional) => procedure.handle({ ...own, application }, fields, peer);
        const request = { method, fields, key, applicationId, scope: action };
        return admission.run(applicationId, ({ ignoreTime }) =>
          this.#handle(call, context, actor, request, handle, ignoreTime),
        );
      }
      const isAdmin = procedure.credential === 'adminKey';
      const actor = isAdmin
        ? ({ actorType: 'admin_key', actor: requireAdmin(this.#parts, context, method) } as const)
        : NOBODY;
      call.outcome = { code: 'ok', isAuthenticated: isAdmin };
      const key = readKey();
      const fields = await readFields();
      const handle = (own: Call) => procedure.handle(own, fields, peer);
      const scope = `${action} by ${actor.actor}`;
      const request = { method, fields, key, applicationId: NO_APPLICATION, scope };
      return this.#handle(call, context, { ...actor, action }, request, handle);
    };
    try {
      return await runCall(call, work, timeoutError);
    } catch (cause) {
      throw failCall(call, cause, logger);
    }
  }

  #handle(
    { deadline, isGone }: CallInfo,
    context: RequestContext,
    actor: Actor,
    { key, ...request }: GivenRequest,
    handle: (call: Call & Transactional) => Promise<ResponseMessage>,
    onWait?: () => void,
  ): Promise<ResponseMessage> {
    const { applicationId } = request;
    const limits = { applicationId, deadline, isGone, onWait };
    if (key === undefined) return handle(createAuditedCall(this.#parts, context, actor, limits));
    onWait?.();
    const { clock, count, notices, onMessage } = this.#parts;
    const now = clock();
    const toCall: KeyedCall['toCall'] = (run) => {
      const database = { run, transact: <Result>(_of: unknown, work: (run: Run) => Promise<Result>) => work(run) };
      return createAuditedCall({ clock: () => now, count, database, notices, onMessage }, context, actor, limits);
    };
    return handleOnce(this.#parts, { ...request, key, now, deadline, isGone, toCall }, handle);
  }
}

type GivenRequest = Pick<KeyedCall, 'applicationId' | 'fields' | 'method' | 'scope'> & {
  readonly key: string | undefined;
};

/** The actor of health checks, which need no credential. */
const NOBODY = { actorType: 'usher', actor: '' } as const;

function toPeer(context: RequestContext): Peer {
  return { ipAddress: context.clientAddress, userAgent: headerOf(context, 'user-agent') ?? '' };
}
