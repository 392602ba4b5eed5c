/** Generates requests that no well-behaved client sends, for every route and RPC, some of them nearly right. */
import { create, type DescMethod, type DescService, fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { binaryChanges, frameChanges, jsonChanges, oddBytes, oddTexts, often } from './hostile-bodies.ts';
import { COMPRESSED, CONTENT_TYPES, HEADERS, METHODS, SEGMENTS } from './hostile-texts.ts';
import { frame } from './rpc-wire.ts';

export type Header = readonly [name: string, value: string];

/** Texts are in latin-1: a character is a byte on the wire. */
export interface HostileRequest {
  /** Whose answer it is to get. */
  readonly kind: 'rest' | 'rpc' | 'operations' | 'login' | 'nothing';
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body: Buffer;
  readonly framing: Framing;
}

/** How HTTP/1.1 tells where the body ends; `short` and `long` lie about it. */
export type Framing = 'length' | 'chunked' | 'both' | 'twice' | 'short' | 'long' | 'none';

/** What there is to find; without it every request would end at the door. */
export interface Known {
  readonly apiKey: string;
  readonly adminKey: string;
  readonly clientId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly userId: string;
  /** An application whose days are numbered. */
  readonly victim: { readonly id: string; readonly apiKeyId: string };
  readonly email: string;
  readonly authToken: string;
  readonly intents: readonly string[];
  readonly cookie: string;
  readonly formToken: string;
}

interface Rpc {
  readonly method: DescMethod;
  readonly fields: JsonObject;
}

const pick = fc.constantFrom;
const framings = fc.oneof(
  { arbitrary: fc.constant<Framing>('length'), weight: 30 },
  { arbitrary: pick<Framing>('chunked'), weight: 6 },
  { arbitrary: pick<Framing>('both', 'twice', 'short', 'long', 'none'), weight: 1 },
);
const oddHeaders = often(
  fc.constant<Header[]>([]),
  fc.array(pick<Header>(...HEADERS), { minLength: 1, maxLength: 3 }),
  1,
);
const segments = fc.oneof(pick(...SEGMENTS), fc.string({ unit: 'binary-ascii', maxLength: 30 }).map(withoutBreaks));
export function hostileRequests(known: Known): fc.Arbitrary<HostileRequest> {
  return fc.oneof(
    { arbitrary: restRequests(known), weight: 4 },
    { arbitrary: rpcRequests(known), weight: 5 },
    { arbitrary: loginRequests(known), weight: 2 },
    { arbitrary: otherRequests(), weight: 1 },
  );
}

function credentials({ apiKey, adminKey }: Known): fc.Arbitrary<Header[]> {
  const both: Header[] = [
    ['x-api-key', apiKey],
    ['x-admin-key', adminKey],
  ];
  const odd: Header[][] = [
    [],
    [['x-api-key', '']],
    [['x-api-key', `${apiKey}x`]],
    [['x-api-key', apiKey.toLowerCase()]],
    [['x-api-key', `usk_${'A'.repeat(49)}`]],
    [['x-api-key', 'usk_\xff\xfe']],
    [['x-api-key', 'a'.repeat(9_000)]],
    [['x-api-key', '__proto__']],
    [
      ['x-api-key', apiKey],
      ['x-api-key', apiKey],
    ],
    [
      ['x-api-key', adminKey],
      ['x-admin-key', apiKey],
    ],
    [['x-admin-key', `${adminKey}\xff`]],
  ];
  return often(fc.constant(both), pick(...odd), 3);
}

function restRequests(known: Known): fc.Arbitrary<HostileRequest> {
  const { clientId, webhookId, eventId, authToken } = known;
  const login = { redirectUri: 'https://app.test/callback', state: 'state' };
  const routes = [
    { method: 'POST', path: '/api/oauth/generate-auth-url', query: `?clientId=${clientId}`, fields: login },
    { method: 'POST', path: '/api/oauth/exchange', query: '', fields: { authToken } },
    { method: 'GET', path: '/api/webhooks/', segment: webhookId, query: '', fields: {} },
    { method: 'DELETE', path: '/api/events/', segment: eventId, query: '', fields: {} },
  ];
  return fc
    .tuple(
      pick(...routes),
      often(fc.constant(undefined), pick(...METHODS)),
      often(fc.constant(undefined), segments, 1),
      often(fc.constant(undefined), segments),
      often(fc.constant('application/json'), pick(...CONTENT_TYPES)),
      credentials(known),
      oddHeaders,
      framings,
      jsonChanges,
    )
    .map(([route, method, segment, query, contentType, keys, odd, framing, change]) => ({
      kind: 'rest',
      method: method ?? route.method,
      target: `${route.path}${segmentOf(route, segment)}${query === undefined ? route.query : `?clientId=${query}`}`,
      headers: [['content-type', contentType], ...keys, ...odd],
      body: (method ?? route.method) === 'POST' ? change(route.fields) : Buffer.alloc(0),
      framing,
    }));
}

/** A route without a parameter is another path with a segment more, and so tried less. */
function segmentOf({ segment }: { segment?: string }, odd: string | undefined): string {
  return segment === undefined && odd !== undefined && odd.length > 3 ? '' : (odd ?? segment ?? '');
}

function rpcRequests(known: Known): fc.Arbitrary<HostileRequest> {
  const types = [
    'application/json',
    'application/proto',
    'application/grpc',
    'application/grpc+proto',
    'application/grpc-web+proto',
  ];
  return fc
    .tuple(
      pick(...rpcsWith(known)),
      often(fc.constant('POST'), pick(...METHODS), 12),
      often(pick(...types), pick(...CONTENT_TYPES), 8),
      credentials(known),
      oddHeaders,
      framings,
      jsonChanges,
      binaryChanges,
      frameChanges,
      often(fc.constant(undefined), pick(...COMPRESSED), 9),
    )
    .map(([{ method: rpc, fields }, method, contentType, keys, odd, framing, toJson, toMessage, wrap, compressed]) => {
      const isFramed = /grpc|connect\+/.test(contentType);
      const isJson = contentType.includes('json');
      const message = isJson ? toJson(fields) : toMessage(toBinary(rpc.input, fromJson(rpc.input, fields)));
      const encoding: Header[] = compressed ? [[isFramed ? 'grpc-encoding' : 'content-encoding', compressed[0]]] : [];
      const content = compressed ? compressed[1] : message;
      // A stream of replies lasts until its caller has had enough.
      const patience: Header[] = rpc.methodKind === 'unary' ? [] : PATIENCE;
      return {
        kind: 'rpc',
        method,
        target: `/${rpc.parent.typeName}/${rpc.name}`,
        headers: [['content-type', contentType], ...keys, ...encoding, ...odd.filter(isNoTimeout(rpc)), ...patience],
        body: !isFramed ? content : compressed ? frame(content, { flags: 1 }) : wrap(content),
        framing,
      };
    });
}

const PATIENCE: Header[] = [
  ['grpc-timeout', '20m'],
  ['connect-timeout-ms', '20'],
];

const isNoTimeout =
  ({ methodKind }: DescMethod) =>
  ([name]: Header) =>
    methodKind === 'unary' || !name.includes('timeout');

function rpcsWith({ clientId, webhookId, eventId, userId, victim, authToken, intents }: Known): Rpc[] {
  const values: JsonObject = {
    clientId,
    redirectUri: 'https://app.test/callback',
    state: 'state',
    authToken,
    webhookId,
    url: 'https://example.com/hooks',
    ownerId: userId,
    eventId,
    attendeeId: 'ada',
    name: 'Ada',
    redirectUris: ['https://app.test/callback'],
    email: 'new@example.com',
    walletAddress: `0x${'0'.repeat(40)}`,
    applicationId: victim.id,
    apiKeyId: victim.apiKeyId,
    userId,
    loginIntentId: intents[0] ?? '',
    service: 'usher.v1.AuthService',
    listServices: '*',
  };
  const services: DescService[] = [AuthService, WebhookService, EventService, AdminService, Health, ServerReflection];
  return services
    .flatMap(({ methods }) => methods)
    .map((method) => {
      const names = Object.keys(create(method.input)).concat(method.input.fields.map(({ jsonName }) => jsonName));
      return { method, fields: Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name))) };
    });
}

function loginRequests({ intents, cookie, formToken, email }: Known): fc.Arbitrary<HostileRequest> {
  const paths = [
    '',
    '',
    '/email',
    '/email/again',
    '/code',
    '/code',
    '/wallet/challenge',
    '/wallet',
    '/cancel',
    '/nothing',
    '/',
  ];
  const names = ['intent', 'token', 'email', 'code', 'address', 'signature'];
  return fc
    .tuple(
      pick(...paths),
      often(pick('GET', 'POST', 'POST'), pick(...METHODS), 8),
      pick(...intents),
      often(
        fc.constant(cookie),
        fc.oneof(
          pick('', 'usher=', 'usher', `usher=${'A'.repeat(43)}`),
          segments.map((text) => `usher=${text}`),
        ),
        6,
      ),
      fc.dictionary(pick(...names), oddTexts, { maxKeys: 3 }),
      often(fc.constant('application/x-www-form-urlencoded'), pick(...CONTENT_TYPES), 8),
      often(fc.constant(undefined), segments, 8),
      oddHeaders,
      framings,
    )
    .map(([path, method, intent, cookieHeader, changes, contentType, raw, odd, framing]) => {
      const fields = { intent, token: formToken, email, code: '000000', address: '', signature: '', ...changes };
      const form =
        raw ??
        new URLSearchParams(
          Object.entries(fields).map(([name, text]): [string, string] => [name, text.toWellFormed()]),
        ).toString();
      const isRead = method === 'GET' || method === 'HEAD';
      return {
        kind: 'login',
        method,
        target: `/login${path}${isRead ? `?${form.slice(0, 12_000)}` : ''}`,
        headers: [['content-type', contentType], ['cookie', cookieHeader], ...odd],
        body: isRead ? Buffer.alloc(0) : Buffer.from(form, 'latin1'),
        framing,
      };
    });
}

function otherRequests(): fc.Arbitrary<HostileRequest> {
  const paths = ['/healthz', '/readyz', '/.well-known/jwks.json'];
  const nowhere = [
    '/',
    '/api',
    '/api/',
    '/API/webhooks/x',
    '/api//webhooks/x',
    '/usher.v1.No/Such',
    '/usher.v1.AuthService/',
    '/favicon.ico',
  ];
  return fc
    .tuple(
      pick(...paths, ...nowhere),
      often(fc.constant(''), segments, 1),
      pick(...METHODS),
      oddHeaders,
      framings,
      oddBytes,
    )
    .map(([path, more, method, headers, framing, body]) => ({
      kind: paths.includes(path) && more === '' ? 'operations' : 'nothing',
      method,
      target: path + more,
      headers,
      body,
      framing,
    }));
}

/** Else it is two lines of a request, and another test's business. */
function withoutBreaks(text: string): string {
  return text.replace(/[\r\n]/g, '');
}
