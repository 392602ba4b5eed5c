import type { ConnectError } from '@connectrpc/connect';
import { ServiceError } from '../../domain/errors.ts';
import type { ReadRequest, ResponseMessage } from '../pipeline.ts';
import type { Fields } from '../procedures.ts';
import { toConnectError, toDecodingError } from './connect-errors.ts';

/**
 * Bridges Connect, which decodes and encodes, and the pipeline, which wants to read in the middle of a call. Connect
 * calls `admit` before it decodes the request, and `handle` with the decoded request.
 */
export class ConnectBridge {
  readonly #runPipeline: (read: ReadRequest) => Promise<ResponseMessage>;
  readonly #admission = Promise.withResolvers<void>();
  readonly #request = Promise.withResolvers<Fields>();
  readonly #readFailure = Promise.withResolvers<ServiceError>();
  #response: Promise<ResponseMessage> | undefined;
  #signal: AbortSignal | undefined;
  #rejection: ConnectError | undefined;
  /** Whether the pipeline waits for Connect to decode the request. */
  isReading = false;

  constructor(runPipeline: (read: ReadRequest) => Promise<ResponseMessage>) {
    this.#runPipeline = runPipeline;
  }

  get isStarted(): boolean {
    return this.#response !== undefined;
  }

  /** Resolves if the request could not be read. Otherwise it stays pending. */
  get readFailure(): Promise<ServiceError> {
    return this.#readFailure.promise;
  }

  /** Resolves when the pipeline reads the request. Connect aborts `signal`, with a reason, when decoding fails. */
  async admit(signal: AbortSignal): Promise<void> {
    if (this.#rejection) throw this.#rejection;
    this.#signal = signal;
    this.#response = this.#runPipeline(() => {
      this.isReading = true;
      this.#admission.resolve();
      return this.#request.promise;
    });
    this.#response.catch((error) => {
      if (this.isReading && error instanceof ServiceError) this.#readFailure.resolve(error);
      else this.#admission.reject(toAnswer(error));
    });
    await this.#admission.promise;
  }

  /** Passes the decoded request to the pipeline, and resolves to the response. */
  async handle(fields: Fields): Promise<ResponseMessage> {
    this.isReading = false;
    this.#request.resolve(fields);
    try {
      return (await this.#response) ?? {};
    } catch (error) {
      throw toAnswer(error);
    }
  }

  /** Tells the pipeline that Connect could not decode the request. */
  failReading(): void {
    this.#request.reject(toDecodingError(this.#signal?.reason));
  }

  /** Makes the next `admit` throw the error, so that Connect answers it. */
  reject(error: ServiceError): void {
    this.#rejection = toConnectError(error);
  }
}

function toAnswer(error: unknown): unknown {
  return error instanceof ServiceError ? toConnectError(error) : error;
}
