/**
 * The pipeline of a unary call, the same over every protocol: credential, admission, deadline, read, handle,
 * log. An edge gives it a function that reads the request, and writes the response or the error.
 */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { headerOf, type RequestContext } from '../http/http-context.ts';
import type { Admission } from './admission.ts';
import { type Call, createCall, type Protocol } from './call.ts';
import { codeOf, deadlineExceeded, toCallError, unavailable } from './call-errors.ts';
import { logCall, type Outcome } from './call-log.ts';
import type { Credentials } from './credentials.ts';
import { type Fields, type Procedure, pathOf } from './procedures.ts';
import { withDeadline } from './with-deadline.ts';

export interface PipelineParts {
  readonly admission: Admission;
  readonly clock: () => Date;
  readonly credentials: Credentials;
  readonly database: Database;
  readonly logger: Logger;
  /** The longest a call may take. */
  readonly requestTimeoutMs: number;
}

export interface CallOptions {
  readonly protocol: Protocol;
  /** The timeout that the caller set, if any. */
  readonly timeoutMs?: number | undefined;
}

/** Reads the request by the deadline, in milliseconds of `performance.now()`. It may throw what the edge answers. */
export type ReadRequest = (deadline: number) => Promise<Fields>;

export type ResponseMessage = MessageInitShape<DescMessage>;

export class Pipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Returns the response message. @throws ServiceError, or the HttpError that `read` threw. */
  async runUnary(
    procedure: Procedure,
    context: RequestContext,
    options: CallOptions,
    read: ReadRequest,
  ): Promise<ResponseMessage> {
    const { logger, requestTimeoutMs } = this.#parts;
    const call = createCall(context, { name: pathOf(procedure.method).slice(1), ...options }, requestTimeoutMs);
    const run = new UnaryRun(this.#parts, procedure, context, call);
    let outcome: Outcome = { code: 'ok' };
    logCall(logger, context, call, () => ({ ...outcome, applicationId: run.applicationId }));
    try {
      return await withDeadline(
        call.deadline,
        () => run.run(read),
        () => run.timeoutError(),
      );
    } catch (cause) {
      const error = toCallError(cause, call, logger);
      outcome = { code: codeOf(error), reason: 'reason' in error ? error.reason : undefined };
      throw error;
    }
  }
}

/** One call on its way through the pipeline. */
class UnaryRun {
  readonly #parts: PipelineParts;
  readonly #procedure: Procedure;
  readonly #context: RequestContext;
  readonly #call: Call;
  #isReading = false;
  applicationId: string | undefined;

  constructor(parts: PipelineParts, procedure: Procedure, context: RequestContext, call: Call) {
    this.#parts = parts;
    this.#procedure = procedure;
    this.#context = context;
    this.#call = call;
  }

  async run(read: ReadRequest): Promise<ResponseMessage> {
    const { admission, credentials } = this.#parts;
    const procedure = this.#procedure;
    const { method } = procedure;
    if (procedure.credential === 'apiKey') {
      const application = await admission.run(() =>
        credentials.authenticateApplication(this.#context, method, this.#call.deadline),
      );
      this.applicationId = application.id;
      const fields = await this.#read(read);
      // The body arrives outside of admission: it takes as long as the caller lets it.
      return admission.runTimed(() => procedure.handle(fields, { ...this.#domainCall(), application }, this.#peer()));
    }
    if (procedure.credential === 'adminKey') credentials.authenticateAdmin(this.#context);
    const fields = await this.#read(read);
    return procedure.handle(fields, this.#domainCall(), this.#peer());
  }

  /** The caller's deadline is the caller's concern, and so is a late body. Otherwise Usher was too slow. */
  timeoutError(): Error {
    return this.#call.isCallersDeadline || this.#isReading ? deadlineExceeded() : unavailable();
  }

  async #read(read: ReadRequest): Promise<Fields> {
    // The look-up of the key may have taken all the time there was.
    if (performance.now() >= this.#call.deadline) throw this.timeoutError();
    this.#isReading = true;
    const fields = await read(this.#call.deadline);
    this.#isReading = false;
    return fields;
  }

  /** The time is that after the body has come: lifetimes end while a slow body arrives. */
  #domainCall() {
    return { run: this.#parts.database.within(this.#call.deadline), now: this.#parts.clock() };
  }

  #peer() {
    return { ipAddress: this.#context.clientAddress, userAgent: headerOf(this.#context, 'user-agent') ?? '' };
  }
}
