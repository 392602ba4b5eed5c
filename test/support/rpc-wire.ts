/** The RPC protocols byte by byte: a request is whatever a test says, and the reply is read as a client would. */
import { Agent, request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Code, ConnectError } from '@connectrpc/connect';
import { errorFromJsonBytes } from '@connectrpc/connect/protocol-connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { trailerFlag, trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { openHttp2Session } from './http2-session.ts';

export interface WireRequest {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | string;
}

export interface WireReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly trailers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** A connection that outlives its requests, so that a test sees whether one of them has harmed it. */
export interface WireClient extends Disposable {
  send(request: WireRequest): Promise<WireReply>;
}

/** What the reply says in the terms of its protocol. */
export interface Outcome {
  /** `Ok`, or the name of the error's code. */
  readonly code: string;
  readonly message: string;
  /** The names of the fields that are wrong. */
  readonly fields: readonly string[];
  /** The message of a success, encoded. */
  readonly payload: Buffer;
}

export interface WireProtocol {
  readonly name: string;
  readonly httpVersion: '1.1' | '2';
  readonly contentType: string;
  readonly timeoutHeader: 'connect-timeout-ms' | 'grpc-timeout';
  readonly encodingHeader: 'content-encoding' | 'grpc-encoding';
  readonly isJson: boolean;
  /** Whether messages travel in frames. */
  readonly isFramed: boolean;
  /** The body that carries one message. */
  wrap(message: Uint8Array | string, options?: { isCompressed?: boolean }): Uint8Array;
  read(reply: WireReply): Outcome;
}

const connect = (httpVersion: '1.1' | '2', format: 'json' | 'proto'): WireProtocol => ({
  name: `Connect ${format === 'json' ? 'JSON' : 'binary'} over HTTP/${httpVersion}`,
  httpVersion,
  contentType: `application/${format}`,
  timeoutHeader: 'connect-timeout-ms',
  encodingHeader: 'content-encoding',
  isJson: format === 'json',
  isFramed: false,
  wrap: (message) => Buffer.from(message),
  read: readConnect,
});

const grpc: WireProtocol = {
  name: 'gRPC over HTTP/2',
  httpVersion: '2',
  contentType: 'application/grpc+proto',
  timeoutHeader: 'grpc-timeout',
  encodingHeader: 'grpc-encoding',
  isJson: false,
  isFramed: true,
  wrap: (message, { isCompressed = false } = {}) => frame(message, { flags: isCompressed ? 1 : 0 }),
  read: ({ headers, trailers, bytes }) => readGrpc({ ...headers, ...trailers }, bytes.subarray(5)),
};

const grpcWeb = (httpVersion: '1.1' | '2'): WireProtocol => ({
  ...grpc,
  name: `gRPC-Web over HTTP/${httpVersion}`,
  httpVersion,
  contentType: 'application/grpc-web+proto',
  read: readGrpcWeb,
});

export const PROTOCOLS: readonly WireProtocol[] = [
  connect('1.1', 'json'),
  connect('2', 'json'),
  connect('1.1', 'proto'),
  connect('2', 'proto'),
  grpcWeb('1.1'),
  grpcWeb('2'),
  grpc,
];

export function openWireClient(url: string, { httpVersion }: Pick<WireProtocol, 'httpVersion'>): WireClient {
  return httpVersion === '2' ? openHttp2(url) : openHttp1(url);
}

/** A message in its frame (gRPC, "Length-Prefixed-Message"): five bytes of flags and length before it. */
export function frame(message: Uint8Array | string, { flags = 0, length = Buffer.byteLength(message) } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(message)]);
}

function openHttp2(url: string): WireClient {
  const client = openHttp2Session(url);
  return {
    send: ({ path, method = 'POST', headers, body }) =>
      client.exchange({ ':method': method, ':path': path, ...headers }, body),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

function openHttp1(url: string): WireClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    send({ path, method = 'POST', headers, body }) {
      const { promise, resolve, reject } = Promise.withResolvers<WireReply>();
      const signal = AbortSignal.timeout(10_000);
      const sent = httpRequest(new URL(path, url), { agent, method, headers, signal }, async (reply) => {
        try {
          const bytes = await buffer(reply);
          resolve({
            status: reply.statusCode ?? 0,
            headers: toRecord(reply.headers),
            trailers: toRecord(reply.trailers),
            bytes,
          });
        } catch (error) {
          reject(error);
        }
      });
      // A server that refuses a body may close while it is being sent; the reply has come by then, or has not.
      sent.on('error', reject);
      sent.end(body);
      return promise;
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function readConnect({ status, headers, bytes }: WireReply): Outcome {
  if (status === 200) return { code: 'Ok', message: '', fields: [], payload: bytes };
  if (headers['content-type'] !== 'application/json') throw new Error('An error of Connect is JSON');
  return toOutcome(errorFromJsonBytes(bytes, undefined, new ConnectError('The body is no error of Connect')));
}

function readGrpc(fields: Readonly<Record<string, string>>, payload: Buffer): Outcome {
  if (fields['grpc-status'] === undefined) throw new Error(`No grpc-status in ${JSON.stringify(fields)}`);
  const error = findTrailerError(new Headers(fields));
  return error ? toOutcome(error) : { code: 'Ok', message: '', fields: [], payload };
}

function readGrpcWeb({ headers, bytes }: WireReply): Outcome {
  if (bytes.length === 0) return readGrpc(headers, bytes);
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const data = bytes.subarray(at + 5, at + 5 + bytes.readUInt32BE(at + 1));
    if (bytes[at] === trailerFlag) return readGrpc(Object.fromEntries(trailerParse(data)), Buffer.concat(messages));
    messages.push(data);
    at += 5 + data.length;
  }
  throw new Error('The body has no trailers');
}

function toOutcome(error: ConnectError): Outcome {
  const fields = error
    .findDetails(BadRequestSchema)
    .flatMap((detail) => detail.fieldViolations.map(({ field }) => field));
  return { code: Code[error.code] ?? String(error.code), message: error.rawMessage, fields, payload: Buffer.alloc(0) };
}

function toRecord(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
