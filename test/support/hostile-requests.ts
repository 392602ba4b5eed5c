/** Generates requests that no well-behaved client sends, for every route and RPC; some are almost valid. */
import { create, type DescMethod, type DescService, fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { OPERATIONS, SERVICES } from '../../src/api/catalogue.ts';
import type { Route } from '../../src/api/rest/routes.ts';
import { binaryChanges, frameChanges, jsonChanges, oddBytes, oddTexts, often } from './hostile-bodies.ts';
import { COMPRESSED, CONTENT_TYPES, HEADERS, METHODS, SEGMENTS } from './hostile-texts.ts';
import { frame } from './protocols.ts';

export type Header = readonly [name: string, value: string];

/** Texts are in latin-1: a character is a byte on the wire. */
export interface HostileRequest {
  /** The part of the service that answers it. */
  readonly kind: 'rest' | 'rpc' | 'operations' | 'login' | 'nothing';
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body: Buffer;
  readonly framing: Framing;
}

/** How HTTP/1.1 says where the body ends; `short` and `long` state a wrong length. */
export type Framing = 'length' | 'chunked' | 'both' | 'twice' | 'short' | 'long' | 'none';

/** Values that exist in the service, so that requests get past its first checks. */
export interface Known {
  readonly apiKey: string;
  readonly adminKey: string;
  readonly clientId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly userId: string;
  /** An application that requests may delete. */
  readonly victim: { readonly id: string; readonly apiKeyId: string };
  readonly email: string;
  readonly authToken: string;
  readonly intents: readonly string[];
  readonly cookie: string;
  readonly formToken: string;
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
/** Without line breaks, which would make two lines of a request. */
const segments = fc.oneof(
  pick(...SEGMENTS),
  fc.string({ unit: 'binary-ascii', maxLength: 30 }).map((text) => text.replace(/[\r\n]/g, '')),
);

export function hostileRequests(known: Known): fc.Arbitrary<HostileRequest> {
  return fc.oneof(
    { arbitrary: restRequests(known), weight: 4 },
    { arbitrary: rpcRequests(known), weight: 5 },
    { arbitrary: loginRequests(known), weight: 2 },
    { arbitrary: otherRequests(), weight: 1 },
  );
}

function credentials({ apiKey, adminKey }: Known): fc.Arbitrary<Header[]> {
  const header =
    (name: string) =>
    (value: string): Header => [name, value];
  const [api, admin] = [header('x-api-key'), header('x-admin-key')];
  const keys = ['', `${apiKey}x`, apiKey.toLowerCase(), `usk_${'A'.repeat(49)}`, 'usk_\xff\xfe', '__proto__'];
  const odd: Header[][] = [...keys, 'a'.repeat(9_000)].map((key) => [api(key)]);
  odd.push([], [api(apiKey), api(apiKey)], [api(adminKey), admin(apiKey)], [admin(`${adminKey}\xff`)]);
  return often(fc.constant([api(apiKey), admin(adminKey)]), pick(...odd), 3);
}

function restRequests(known: Known): fc.Arbitrary<HostileRequest> {
  const values = valuesOf(known);
  return fc
    .tuple(
      pick(...OPERATIONS.flatMap(({ route }) => route ?? [])),
      often(fc.constant(undefined), pick(...METHODS)),
      often(fc.constant(undefined), segments, 1),
      often(fc.constant(undefined), segments),
      often(fc.constant('application/json'), pick(...CONTENT_TYPES)),
      credentials(known),
      oddHeaders,
      framings,
      jsonChanges,
    )
    .map(([route, oddMethod, oddSegment, oddQuery, contentType, keys, odd, framing, change]) => {
      const method = oddMethod ?? route.method;
      const fields = fieldsFrom(route, 'body', values);
      return {
        kind: 'rest',
        method,
        target: `${pathOf(route, values, oddSegment)}${queryOf(route, values, oddQuery)}`,
        headers: [['content-type', contentType], ...keys, ...odd],
        body: method === 'POST' ? change(fields) : Buffer.alloc(0),
        framing,
      };
    });
}

function pathOf({ path }: Route, values: JsonObject, odd: string | undefined): string {
  // A long segment after a route without a parameter is an unknown path, which is not worth many tries.
  if (!path.includes(':')) return `${path}${odd !== undefined && odd.length <= 3 ? odd : ''}`;
  return path.replace(/:(\w+)/, (_, name) => odd ?? String(values[name]));
}

function queryOf(route: Route, values: JsonObject, odd: string | undefined): string {
  const pairs = Object.entries(fieldsFrom(route, 'query', values));
  if (pairs.length === 0) return odd === undefined ? '' : `?clientId=${odd}`;
  return `?${pairs.map(([name, value]) => `${name}=${odd ?? value}`).join('&')}`;
}

function fieldsFrom(route: Route, place: string, values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => route.fields[name] === place));
}

function rpcRequests(known: Known): fc.Arbitrary<HostileRequest> {
  const types = ['json', 'proto', 'grpc', 'grpc+proto', 'grpc-web+proto'].map((type) => `application/${type}`);
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
      return {
        kind: 'rpc',
        method,
        target: `/${rpc.parent.typeName}/${rpc.name}`,
        headers: [['content-type', contentType], ...keys, ...encoding, ...withTimeout(rpc, odd)],
        body: !isFramed ? content : compressed ? frame(content, { flags: 1 }) : wrap(content),
        framing,
      };
    });
}

/** A stream of replies lasts until its caller's deadline, so streams get a short one. */
function withTimeout({ methodKind }: DescMethod, odd: readonly Header[]): readonly Header[] {
  if (methodKind === 'unary') return odd;
  const others = odd.filter(([name]) => !name.includes('timeout'));
  return [...others, ['grpc-timeout', '20m'], ['connect-timeout-ms', '20']];
}

/** Returns a valid value for every field of every request, by name. */
function valuesOf({ victim, intents, ...known }: Known): JsonObject {
  const { clientId, webhookId, eventId, userId, authToken } = known;
  return {
    ...{ clientId, webhookId, eventId, userId, authToken, ownerId: userId, loginIntentId: intents[0] ?? '' },
    ...{ applicationId: victim.id, apiKeyId: victim.apiKeyId, name: 'Ada', email: 'new@example.com' },
    ...{ redirectUri: 'https://app.test/callback', redirectUris: ['https://app.test/callback'], state: 'state' },
    ...{ url: 'https://example.com/hooks', attendeeId: 'ada', walletAddress: `0x${'0'.repeat(40)}` },
    ...{ service: 'usher.v1.AuthService', listServices: '*' },
  };
}

function rpcsWith(known: Known): { method: DescMethod; fields: JsonObject }[] {
  const services: DescService[] = [...SERVICES.map(({ service }) => service), Health, ServerReflection];
  return services
    .flatMap(({ methods }) => methods)
    .map((method) => {
      const names = Object.keys(create(method.input)).concat(method.input.fields.map(({ jsonName }) => jsonName));
      const fields = Object.entries(valuesOf(known)).filter(([name]) => names.includes(name));
      return { method, fields: Object.fromEntries(fields) };
    });
}

function loginRequests({ intents, cookie, formToken, email }: Known): fc.Arbitrary<HostileRequest> {
  const forms = ['/email', '/email/again', '/code', '/code', '/wallet/challenge', '/wallet', '/cancel', '/nothing'];
  const oddCookies = fc.oneof(
    pick('', 'usher=', 'usher', `usher=${'A'.repeat(43)}`),
    segments.map((text) => `usher=${text}`),
  );
  const changes = fc.dictionary(pick('intent', 'token', 'email', 'code', 'address', 'signature'), oddTexts, {
    maxKeys: 3,
  });
  return fc
    .tuple(
      pick('', '', '/', ...forms),
      often(pick('GET', 'POST', 'POST'), pick(...METHODS), 8),
      pick(...intents),
      often(fc.constant(cookie), oddCookies, 6),
      changes,
      often(fc.constant('application/x-www-form-urlencoded'), pick(...CONTENT_TYPES), 8),
      often(fc.constant(undefined), segments, 8),
      oddHeaders,
      framings,
    )
    .map(([path, method, intent, cookieHeader, changed, contentType, raw, odd, framing]) => {
      const fields = { intent, token: formToken, email, code: '000000', address: '', signature: '', ...changed };
      const pairs = Object.entries(fields).map(([name, text]): [string, string] => [name, text.toWellFormed()]);
      const form = raw ?? new URLSearchParams(pairs).toString();
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
  const unknown = ['/', '/api', '/api/', '/API/webhooks/x', '/api//webhooks/x', '/usher.v1.No/Such', '/favicon.ico'];
  return fc
    .tuple(
      pick(...paths, ...unknown, '/usher.v1.AuthService/'),
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
