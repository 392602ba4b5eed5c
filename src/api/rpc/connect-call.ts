import type { ConnectError } from '@connectrpc/connect';
import { ServiceError } from '../../domain/errors.ts';
import type { ReadRequest, ResponseMessage } from '../pipeline.ts';
import type { Fields } from '../procedures.ts';
import { toConnectError, toDecodingError } from './connect-errors.ts';

/**
 * A call on its way through the pipeline whose request Connect decodes and whose response Connect encodes.
 * Connect calls `admit` before it decodes, and `handle` with what it has decoded.
 */
export class ConnectCall {
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

  /** Resolves to why the request could not be read, and to nothing ever if it could. */
  get readFailure(): Promise<ServiceError> {
    return this.#readFailure.promise;
  }

  /** Resolves when the pipeline wants the request. `signal` is aborted with Connect's reason to stop decoding. */
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

  /** Resolves to the response to the request that Connect has decoded. */
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

  /** Makes Connect answer with the error when it handles the request again. */
  reject(error: ServiceError): void {
    this.#rejection = toConnectError(error);
  }
}

function toAnswer(error: unknown): unknown {
  return error instanceof ServiceError ? toConnectError(error) : error;
}
