/**
 * One way to make a call over every protocol, and one shape for its answer, so that a single table
 * of cases holds for all of them.
 */
import { type DescMethodUnary, fromJson, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextValues, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { request } from './http.ts';
import { carries, toRequest, WIRES, type Wire } from './wire.ts';

/** What a caller learns, whatever the protocol. */
export interface Answer {
  /** `ok`, or the code of the error in snake case. */
  readonly code: string;
  /** The message of an error; REST alone has one for success too. */
  readonly message: string | undefined;
  /** The names of the fields that are wrong. */
  readonly fields: readonly string[];
  /** The response as JSON, every field present. */
  readonly data: JsonValue | undefined;
}

export interface Caller {
  readonly name: string;
  readonly isRest: boolean;
  /** Whether the RPC can be called this way: REST has four. */
  supports(method: DescMethodUnary): boolean;
  call(url: string, method: DescMethodUnary, fields: JsonObject, headers: Record<string, string>): Promise<Answer>;
}

const REST_CODES: Record<number, string> = {
  200: 'ok',
  400: 'invalid_argument',
  401: 'unauthenticated',
  404: 'not_found',
  503: 'unavailable',
};

function restCaller(wire: Wire): Caller {
  const { name, httpVersion } = wire;
  return {
    name,
    isRest: true,
    supports: (method) => carries(wire, method),
    async call(url, method, fields, headers) {
      const { body, ...head } = toRequest(wire, { method, fields, headers });
      const reply = await request(url, { httpVersion, ...head, body: body || undefined });
      const envelope = JSON.parse(reply.body);
      return {
        code: REST_CODES[reply.status] ?? String(reply.status),
        message: envelope.message,
        fields: (envelope.errors ?? []).map(({ field }: { field: string }) => field),
        data: envelope.data,
      };
    },
  };
}

function rpcCaller(name: string, createTransport: (baseUrl: string) => Transport): Caller {
  return {
    name,
    isRest: false,
    supports: () => true,
    async call(url, method, fields, headers) {
      const transport = createTransport(url);
      try {
        const message = fromJson(method.input, fields);
        const response = await transport.unary(method, undefined, undefined, headers, message, createContextValues());
        const data = toJson(method.output, response.message, { alwaysEmitImplicit: true });
        return { code: 'ok', message: undefined, fields: [], data };
      } catch (error) {
        const failure = ConnectError.from(error);
        const details = failure.findDetails(BadRequestSchema);
        return {
          code: toSnakeCase(Code[failure.code]),
          message: failure.rawMessage,
          fields: details.flatMap((detail) => detail.fieldViolations.map(({ field }) => field)),
          data: undefined,
        };
      }
    },
  };
}

export const CALLERS: readonly Caller[] = [
  ...WIRES.filter(({ protocol }) => protocol === 'rest').map(restCaller),
  ...(['1.1', '2'] as const).flatMap((httpVersion) => [
    rpcCaller(`Connect JSON over HTTP/${httpVersion}`, (baseUrl) =>
      createConnectTransport({ baseUrl, httpVersion, useBinaryFormat: false }),
    ),
    rpcCaller(`Connect binary over HTTP/${httpVersion}`, (baseUrl) =>
      createConnectTransport({ baseUrl, httpVersion, useBinaryFormat: true }),
    ),
    rpcCaller(`gRPC-Web over HTTP/${httpVersion}`, (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion })),
  ]),
  rpcCaller('gRPC over HTTP/2', (baseUrl) => createGrpcTransport({ baseUrl })),
];

function toSnakeCase(name = ''): string {
  return name.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase();
}
