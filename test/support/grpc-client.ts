/** Calls by way of `@grpc/grpc-js`, the client that most of Usher's callers on Node have. */
import {
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type CallOptions, Client, type ClientUnaryCall, credentials, Metadata, status } from '@grpc/grpc-js';

export interface GrpcOutcome<Message> {
  /** The name of a status, such as `OK` or `NOT_FOUND`. */
  readonly code: string;
  /** What the server says of an error; empty for a success. */
  readonly details: string;
  readonly message: Message | undefined;
  readonly headers: Metadata;
  readonly trailers: Metadata;
}

interface CallSettings extends Pick<CallOptions, 'deadline'> {
  readonly headers?: Record<string, string>;
  /** Is given the call once it has begun. */
  readonly onCall?: (call: ClientUnaryCall) => void;
}

export class GrpcClient implements Disposable {
  readonly #client: Client;

  constructor({ url }: { url: string }) {
    this.#client = new Client(new URL(url).host, credentials.createInsecure());
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    { headers = {}, onCall, ...options }: CallSettings = {},
  ): Promise<GrpcOutcome<MessageShape<O>>> {
    return new Promise((resolve) => {
      let first = new Metadata();
      let message: MessageShape<O> | undefined;
      const call = this.#client.makeUnaryRequest<MessageShape<I>, MessageShape<O>>(
        ...codecOf(method),
        request,
        toMetadata(headers),
        options,
        (_error, value) => {
          message = value;
        },
      );
      call.on('metadata', (metadata) => {
        first = metadata;
      });
      call.on('status', ({ code, details, metadata }) => {
        // The status comes before the callback.
        setImmediate(() => resolve({ code: status[code], details, message, headers: first, trailers: metadata }));
      });
      onCall?.(call);
    });
  }

  /** The messages of a stream as they come; a status other than `OK` is thrown, with the status as `code`. */
  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    { headers = {}, ...options }: CallSettings = {},
  ) {
    return this.#client.makeServerStreamRequest<MessageShape<I>, MessageShape<O>>(
      ...codecOf(method),
      request,
      toMetadata(headers),
      options,
    );
  }

  /** Sends all requests and returns all responses. */
  async bidiStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    requests: readonly MessageShape<I>[],
  ): Promise<MessageShape<O>[]> {
    const call = this.#client.makeBidiStreamRequest<MessageShape<I>, MessageShape<O>>(
      ...codecOf(method),
      new Metadata(),
    );
    for (const request of requests) call.write(request);
    call.end();
    const responses: MessageShape<O>[] = [];
    for await (const response of call) responses.push(response);
    return responses;
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

/** Returns the path, and the functions that write a request and read a response. */
function codecOf<I extends DescMessage, O extends DescMessage>({
  parent,
  name,
  input,
  output,
}: DescMethod & { input: I; output: O }) {
  const serialize = (value: MessageShape<I>) => Buffer.from(toBinary(input, value));
  const deserialize = (bytes: Uint8Array) => fromBinary(output, bytes);
  return [`/${parent.typeName}/${name}`, serialize, deserialize] as const;
}

function toMetadata(headers: Record<string, string>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}
