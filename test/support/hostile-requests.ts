/** Generates requests that no well-behaved client sends, for every route and RPC; some are almost valid. */
import { type DescMethodUnary, fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import {
  COMPRESSED,
  CONTENT_TYPES,
  HEADERS,
  JSON_VALUES,
  MESSAGES,
  METHODS,
  SEGMENTS,
  TEXTS,
} from './hostile-texts.ts';
import { formOf, LoginBrowser } from './login-browser.ts';
import { OPERATIONS } from './operations.ts';
import { frame, REST, supports, toRequest } from './protocols.ts';
import { type SampleFixture, sampleFields } from './samples.ts';
import { ADMIN_KEY, createLoginIntent, createTenant } from './service.ts';

export interface HostileRequest {
  /** The part of the service that answers it. */
  readonly kind: 'rest' | 'rpc' | 'operations' | 'login' | 'nothing';
  readonly method: string;
  /** In latin-1, like the headers: a character is a byte on the wire. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** What exists in the service, so that requests get past its first checks. */
type Known = Awaited<ReturnType<typeof createKnown>>;

async function createKnown(service: SampleFixture['service']) {
  const tenant = await createTenant(service);
  const createCall = async ({ method }: (typeof OPERATIONS)[number]) => ({
    method,
    fields: await sampleFields(method, { service, tenant }),
  });
  const browser = new LoginBrowser(service);
  const page = await browser.open(`/login?intent=${await createLoginIntent(service, tenant)}`);
  return {
    apiKey: tenant.apiKey,
    calls: await Promise.all(OPERATIONS.map(createCall)),
    form: formOf(page, '/login/email').fields,
    cookie: browser.cookie ?? '',
  };
}

/** Creates what the requests refer to, and returns their generator. */
export async function hostileRequests(service: SampleFixture['service']): Promise<fc.Arbitrary<HostileRequest>> {
  const known = await createKnown(service);
  return fc.oneof(
    { arbitrary: restRequests(known), weight: 4 },
    { arbitrary: rpcRequests(known), weight: 5 },
    { arbitrary: loginRequests(known), weight: 2 },
    { arbitrary: otherRequests(), weight: 1 },
  );
}

const pick = fc.constantFrom;

/** Returns the usual value most of the time, so that requests get far, and the odd one otherwise. */
const often = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, weight = 4) =>
  fc.oneof({ arbitrary: usual, weight }, { arbitrary: odd, weight: 1 });
const sometimes = <T>(odd: fc.Arbitrary<T>, weight = 4) => often(fc.constant<T | undefined>(undefined), odd, weight);

const texts = often(pick(...TEXTS), fc.string({ unit: 'binary' }));
const messages = often(
  pick(...MESSAGES),
  fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)),
  2,
);
const segments = often(
  pick(...SEGMENTS),
  // HTTP clients refuse to send other characters.
  fc.string({ unit: 'binary-ascii', maxLength: 30 }).map((text) => text.replace(/[^\x21-\x7e]/g, '')),
  1,
);
const headers = fc.array(pick(...HEADERS), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs));

function credentials({ apiKey }: Known): fc.Arbitrary<Record<string, string>> {
  const odd = ['', `${apiKey}x`, apiKey.toLowerCase(), `usk_${'A'.repeat(49)}`, 'usk_\xff\xfe', 'a'.repeat(9_000)];
  return fc
    .record({ api: often(fc.constant(apiKey), pick(...odd), 6), admin: often(fc.constant(ADMIN_KEY), pick(...odd), 6) })
    .map(({ api, admin }) => ({ 'x-api-key': api, 'x-admin-key': admin }));
}

/** Returns the fields as JSON: unchanged, with one field changed or added, truncated, or replaced. */
const jsonChanges = fc.oneof(
  fc.constant((fields: JsonObject) => Buffer.from(JSON.stringify(fields))),
  fc.tuple(fc.nat(20), texts).map(([index, text]) => (fields: JsonObject) => {
    const name = Object.keys(fields)[index % Math.max(1, Object.keys(fields).length)] ?? 'x';
    return Buffer.from(JSON.stringify({ ...fields, [name]: text }));
  }),
  fc.tuple(fc.nat(20), pick(...JSON_VALUES)).map(([index, value]) => (fields: JsonObject) => {
    const names = [...Object.keys(fields), '__proto__', 'x', 'constructor'];
    const json = JSON.stringify(fields).slice(0, -1);
    return Buffer.from(`${json}${json === '{' ? '' : ','}"${names[index % names.length]}":${value}}`, 'latin1');
  }),
  pick(...JSON_VALUES, '{', '{}{}', '\ufeff{}', ' '.repeat(70_000)).map((text) => () => Buffer.from(text, 'latin1')),
  fc.nat(100).map((length) => (fields: JsonObject) => Buffer.from(JSON.stringify(fields).slice(0, length))),
);

/** Returns a protobuf message: unchanged, with one byte changed, with bytes appended, or replaced. */
const binaryChanges = fc.oneof(
  fc.constant((message: Uint8Array) => Buffer.from(message)),
  messages.map((odd) => () => odd),
  messages.map((odd) => (message: Uint8Array) => Buffer.concat([message, odd])),
  fc.tuple(fc.nat(200), fc.nat(255)).map(([at, byte]) => (message: Uint8Array) => {
    const changed = Buffer.from(message);
    if (changed.length > 0) changed[at % changed.length] = byte;
    return changed;
  }),
);

/** Returns the message in a gRPC frame, or in a malformed one. */
const frameChanges = often(
  fc.constant((message: Buffer) => frame(message)),
  fc.oneof(
    fc.tuple(pick(0, 1, 2, 0x7e, 0x80, 0xff), pick(0, 1, -1, 10, 65_537, 100_000_000, 0xffff_ffff)).map(
      ([flags, extra]) =>
        (message: Buffer) =>
          frame(message, { flags, length: (message.length + extra) >>> 0 }),
    ),
    fc.constant((message: Buffer) => Buffer.concat([frame(message), frame(message)])),
    messages.map((odd) => (message: Buffer) => Buffer.concat([frame(message), odd])),
    messages.map((odd) => () => odd),
    fc.nat(6).map((length) => (message: Buffer) => frame(message).subarray(0, length)),
  ),
  2,
);

function restRequests(known: Known): fc.Arbitrary<HostileRequest> {
  return fc
    .record({
      call: pick(...known.calls.filter(({ method }) => supports(REST, method))),
      method: sometimes(pick(...METHODS)),
      segment: sometimes(segments, 2),
      contentType: often(fc.constant('application/json'), pick(...CONTENT_TYPES)),
      credentials: credentials(known),
      headers,
      change: jsonChanges,
    })
    .map(({ call, segment, contentType, credentials, headers, change, ...odd }) => {
      const { method, path, body } = toRequest(REST, call);
      return {
        kind: 'rest',
        method: odd.method ?? method,
        path: segment === undefined ? path : path.replace(/[^/=]+$/, () => segment),
        headers: { 'content-type': contentType, ...credentials, ...headers },
        body: method === 'POST' ? change(JSON.parse(String(body) || '{}')) : Buffer.alloc(0),
      };
    });
}

function rpcRequests(known: Known): fc.Arbitrary<HostileRequest> {
  const types = ['json', 'proto', 'grpc', 'grpc+proto', 'grpc-web+proto'].map((type) => `application/${type}`);
  return fc
    .record({
      call: pick<{ method: DescMethodUnary; fields: JsonObject }>(...known.calls),
      method: often(fc.constant('POST'), pick(...METHODS), 12),
      contentType: often(pick(...types), pick(...CONTENT_TYPES), 8),
      credentials: credentials(known),
      headers,
      toJson: jsonChanges,
      toMessage: binaryChanges,
      wrap: frameChanges,
      compressed: sometimes(pick(...COMPRESSED), 9),
    })
    .map(({ call, method, contentType, credentials, headers, toJson, toMessage, wrap, compressed }) => {
      const { input, parent, name } = call.method;
      const isFramed = /grpc|connect\+/.test(contentType);
      const isJson = contentType.includes('json');
      const message = isJson ? toJson(call.fields) : toMessage(toBinary(input, fromJson(input, call.fields)));
      const encoding = compressed && { [isFramed ? 'grpc-encoding' : 'content-encoding']: compressed[0] };
      const content = compressed ? compressed[1] : message;
      return {
        kind: 'rpc',
        method,
        path: `/${parent.typeName}/${name}`,
        headers: { 'content-type': contentType, ...credentials, ...headers, ...encoding },
        body: !isFramed ? content : compressed ? frame(content, { flags: 1 }) : wrap(content),
      };
    });
}

function loginRequests({ form, cookie }: Known): fc.Arbitrary<HostileRequest> {
  const actions = ['', '/', '/email', '/email/again', '/code', '/wallet/challenge', '/wallet', '/cancel', '/nothing'];
  const oddCookies = often(
    pick('', 'usher', `usher=${'A'.repeat(43)}`),
    segments.map((text) => `usher=${text}`),
  );
  return fc
    .record({
      action: pick(...actions),
      method: often(pick('GET', 'POST', 'POST'), pick(...METHODS), 8),
      cookie: often(fc.constant(cookie), oddCookies, 6),
      changes: fc.dictionary(pick('intent', 'token', 'email', 'code', 'address', 'signature'), texts, { maxKeys: 3 }),
      contentType: often(fc.constant('application/x-www-form-urlencoded'), pick(...CONTENT_TYPES), 8),
      raw: sometimes(segments, 8),
      headers,
    })
    .map(({ action, method, cookie, changes, contentType, raw, headers }) => {
      const fields = { ...form, email: 'ada@example.com', code: '000000', ...changes };
      const pairs = Object.entries(fields).map(([name, text]): [string, string] => [name, text.toWellFormed()]);
      const body = raw ?? new URLSearchParams(pairs).toString();
      const isRead = method === 'GET';
      return {
        kind: 'login',
        method,
        path: `/login${action}${isRead ? `?${body.slice(0, 12_000)}` : ''}`,
        headers: { 'content-type': contentType, ...headers, cookie },
        body: isRead ? Buffer.alloc(0) : Buffer.from(body, 'latin1'),
      };
    });
}

function otherRequests(): fc.Arbitrary<HostileRequest> {
  const operations = ['/healthz', '/readyz', '/.well-known/jwks.json'];
  const unknown = ['/', '/api', '/api//webhooks/x', '/usher.v1.No/Such', '/favicon.ico', '/usher.v1.AuthService/'];
  return fc
    .record({
      path: pick(...operations, ...unknown),
      more: often(fc.constant(''), segments, 1),
      method: pick(...METHODS),
      headers,
      body: messages,
    })
    .map(({ path, more, ...rest }) => ({
      kind: operations.includes(path) && more === '' ? 'operations' : 'nothing',
      path: path + more,
      ...rest,
    }));
}
