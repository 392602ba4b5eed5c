/**
 * One way to make a call over every protocol, and one shape for its answer, so that a single table
 * of cases holds for all of them.
 */
import { type DescMethodUnary, fromJson, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextValues, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { request } from './http.ts';

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

const REST_ROUTES = new Map<
  DescMethodUnary,
  (fields: JsonObject) => { method: string; path: string; body?: JsonObject }
>([
  [
    AuthService.method.generateAuthUrl,
    ({ clientId, ...body }) => ({
      method: 'POST',
      path: `/api/oauth/generate-auth-url${clientId === undefined ? '' : `?clientId=${encodeURIComponent(String(clientId))}`}`,
      body,
    }),
  ],
  [AuthService.method.exchangeToken, (body) => ({ method: 'POST', path: '/api/oauth/exchange', body })],
  [
    WebhookService.method.getWebhook,
    ({ webhookId }) => ({ method: 'GET', path: `/api/webhooks/${encodeURIComponent(String(webhookId ?? ''))}` }),
  ],
  [
    EventService.method.deleteEvent,
    ({ eventId }) => ({ method: 'DELETE', path: `/api/events/${encodeURIComponent(String(eventId ?? ''))}` }),
  ],
]);

const REST_CODES: Record<number, string> = {
  200: 'ok',
  400: 'invalid_argument',
  401: 'unauthenticated',
  404: 'not_found',
  503: 'unavailable',
};

function restCaller(httpVersion: '1.1' | '2'): Caller {
  return {
    name: `REST over HTTP/${httpVersion}`,
    isRest: true,
    supports: (method) => REST_ROUTES.has(method),
    async call(url, method, fields, headers) {
      const route = REST_ROUTES.get(method)?.(fields);
      if (!route) throw new Error(`${method.name} has no REST route`);
      const reply = await request(url, {
        httpVersion,
        method: route.method,
        path: route.path,
        headers: { 'content-type': 'application/json', ...headers },
        body: route.body && JSON.stringify(route.body),
      });
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
  restCaller('1.1'),
  restCaller('2'),
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
