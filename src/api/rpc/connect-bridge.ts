import type { DescMessage } from '@bufbuild/protobuf';
import type { ConnectError } from '@connectrpc/connect';
import {
  createAsyncIterable,
  type UniversalHandler,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import { ServiceError } from '../../domain/core/errors.ts';
import type { Fields, ResponseMessage } from '../messages.ts';
import type { ReadRequest } from '../pipeline.ts';
import { toConnectError, toDecodingError } from './connect-errors.ts';

/** What the error of a request depends on that Connect cannot decode. */
interface RequestFacts {
  /** Of the request message. */
  readonly schema: DescMessage;
  /** Whether Connect refuses the timeout, before it reads the request. */
  readonly hasMalformedTimeout: boolean;
}

/**
 * Bridges Connect and the pipeline. Connect decodes a request before it calls a handler, but the pipeline reads the
 * request after the credential is checked. So `serve` starts Connect's handler, the handler calls `admit` before it
 * decodes the request, and `handle` with the decoded request.
 */
export class ConnectBridge {
  readonly #facts: RequestFacts;
  readonly #runPipeline: (read: ReadRequest) => Promise<ResponseMessage>;
  readonly #admission = Promise.withResolvers<void>();
  readonly #request = Promise.withResolvers<Fields>();
  /** Resolves if the request could not be read. Otherwise it stays pending. */
  readonly #readFailure = Promise.withResolvers<ServiceError>();
  #response: Promise<ResponseMessage> | undefined;
  #signal: AbortSignal | undefined;
  #rejection: ConnectError | undefined;
  /** Whether the pipeline waits for Connect to decode the request. */
  #isReading = false;

  constructor(facts: RequestFacts, runPipeline: (read: ReadRequest) => Promise<ResponseMessage>) {
    this.#facts = facts;
    this.#runPipeline = runPipeline;
  }

  get isStarted(): boolean {
    return this.#response !== undefined;
  }

  /** Returns the response: that of the call, or the error if Connect could not read the request. */
  async serve(handler: UniversalHandler, request: UniversalServerRequest): Promise<UniversalServerResponse> {
    const result = await Promise.race([this.#respond(handler, request), this.#readFailure.promise]);
    if (!(result instanceof ServiceError)) return result;
    // Connect encodes the error for the protocol when it handles the request again, without the body.
    this.#rejection = toConnectError(result);
    return handler({ ...request, body: createAsyncIterable<Uint8Array>([]) });
  }

  /** Resolves when the pipeline reads the request. Connect aborts `signal`, with a reason, when decoding fails. */
  async admit(signal: AbortSignal): Promise<void> {
    if (this.#rejection) throw this.#rejection;
    this.#signal = signal;
    this.#response = this.#runPipeline(() => {
      this.#isReading = true;
      this.#admission.resolve();
      return this.#request.promise;
    });
    this.#response.catch((error) => {
      if (this.#isReading && error instanceof ServiceError) this.#readFailure.resolve(error);
      else this.#admission.reject(toAnswer(error));
    });
    await this.#admission.promise;
  }

  /** Passes the decoded request to the pipeline, and resolves to the response. */
  async handle(fields: Fields): Promise<ResponseMessage> {
    this.#isReading = false;
    this.#request.resolve(fields);
    try {
      return (await this.#response) ?? {};
    } catch (error) {
      throw toAnswer(error);
    }
  }

  async #respond(
    handler: UniversalHandler,
    request: UniversalServerRequest,
  ): Promise<UniversalServerResponse | ServiceError> {
    try {
      const response = await handler(request);
      if (!this.#isReading) return response;
    } catch (error) {
      // Connect throws if its error message quotes text that no header can carry.
      if (!this.#isReading) throw error;
    }
    // Connect could not decode the request, and the pipeline still waits for it.
    this.#request.reject(toDecodingError(this.#signal?.reason, this.#facts));
    return this.#readFailure.promise;
  }
}

function toAnswer(error: unknown): unknown {
  return error instanceof ServiceError ? toConnectError(error) : error;
}
