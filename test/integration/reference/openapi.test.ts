/** The OpenAPI documents say what the service does: requests that they allow are valid, and replies are as they say. */
import { spawnSync } from 'node:child_process';
import type { DescMethodUnary, JsonObject, JsonValue } from '@bufbuild/protobuf';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import connectDocument from '../../../gen/openapi/connect.json' with { type: 'json' };
import restDocument from '../../../gen/openapi/rest.json' with { type: 'json' };
import type { Operation } from '../../../src/api/catalogue.ts';
import { readRetryAfterMs } from '../../../src/delivery/delivery-state.ts';
import { ASCII, type Rule } from '../../../src/domain/core/rule.ts';
import { check, identifier, pathIdentifier, text, textOfBytes } from '../../../src/domain/core/validation.ts';
import { groupRules } from '../../../src/domain/groups/group.ts';
import { validationFailed, without } from '../../support/answers.ts';
import { request } from '../../support/http.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { answerOf, CONNECT, type Protocol, REST, send } from '../../support/protocols.ts';
import { credentialFor, sampleFields } from '../../support/samples.ts';
import { createTenant, startTestService } from '../../support/service.ts';
import { lacks, PYTHON_PATH } from '../../support/tools.ts';

interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly (string | null)[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** A request needs one of the fields, whose names each has. */
  readonly anyOf?: readonly { readonly required: readonly string[] }[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Schema;
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { content: { 'application/json': { schema: Schema } } };
  readonly responses: Readonly<Record<string, { content: { 'application/json': { schema: object } } }>>;
}

type Paths = Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;

/** Of both protocols together twenty, since both check fields by the same rules. */
const RUNS = 10;
/** The same requests in every run: whether the tests pass depends on the code alone. */
const SEED = 1;

const cases = [
  ...OPERATIONS.filter(({ route }) => route).map((operation) => ({ protocol: REST, operation })),
  ...OPERATIONS.map((operation) => ({ protocol: CONNECT, operation })),
].map((each) => ({ ...each, name: `${each.operation.method.name} over ${each.protocol.name}` }));

const service = await startTestService();
const tenant = await createTenant(service);
afterAll(() => service.close());

const validators = new Map(
  [restDocument, connectDocument].map((document) => {
    const ajv = addFormats.default(
      new Ajv2020({
        strict: false,
        formats: {
          'field-mask': true,
          'redirect-uri': true,
          'web-redirect-uri': true,
          'https-uri': true,
          'ip-address': true,
          'support-uri': true,
          'login-method': true,
          'email-domain': true,
          line: true,
          'resource-uri': true,
          'scope-name': true,
          'client-id': true,
          color: true,
          base64url: true,
          'page-token': true,
          cursor: true,
          'message-id': true,
          'webhook-url': true,
        },
      }),
    );
    return [document as object, ajv.addSchema(document, 'document')];
  }),
);

describe.each(cases)('$name', ({ protocol, operation }) => {
  test('takes the sample, and answers it and what the document allows as the document says', async () => {
    const { documented, validate } = find(protocol, operation);
    const headers = credentialFor(operation, tenant);
    const ask = async (fields: JsonObject) => {
      const reply = await send(protocol, service.url, { method: operation.method, fields, headers });
      return { status: reply.status, body: JSON.parse(reply.bytes.toString()) };
    };

    const sample = await sampleFields(operation.method, { service, tenant });
    const answer = await ask(sample);
    expect([200, 201]).toContain(answer.status);
    validate(answer);

    await fc.assert(
      fc.asyncProperty(requestsOf(documented, sample), async (fields) => {
        const reply = await ask(fields);
        validate(reply);
        expect(JSON.stringify(reply.body), JSON.stringify(fields)).not.toContain('VALIDATION_FAILED');
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test('refuses what the document does not allow, and names the field', async () => {
    const { documented, validate } = find(protocol, operation);
    const { method } = operation;
    const headers = credentialFor(operation, tenant);
    const sample = await sampleFields(method, { service, tenant });
    const expectRefused = async (fields: JsonObject, names: readonly string[]) => {
      const reply = await send(protocol, service.url, { method, fields, headers });
      const sent = JSON.stringify(fields).slice(0, 1_000);
      expect(answerOf(protocol, method, reply), sent).toEqual(validationFailed(...names));
      validate({ status: reply.status, body: JSON.parse(reply.body) });
    };
    const required = requiredOf(documented);
    if (required.length > 0) await expectRefused({}, required);
    for (const name of required) await expectRefused(without(sample, name), [name]);
    const alternatives = alternativesOf(documented);
    if (alternatives.length > 0) await expectRefused({}, alternatives.slice(0, 1));
    // In RPCs, Protobuf refuses what is no message.
    const messages = protocol === REST ? [] : method.input.fields.filter(({ message }) => message);
    const scalars = fieldsOf(documented).filter(({ name }) => !messages.some(({ jsonName }) => jsonName === name));
    for (const { name, in: place, schema } of scalars) {
      for (const value of wrongValuesOf(schema, place === 'body')) {
        await expectRefused({ ...sample, [name]: value }, [name]);
      }
    }
  });
});

/** Returns every object of the document, with its path. */
function* walk(value: unknown, path = '#'): Generator<[path: string, node: Readonly<Record<string, unknown>>]> {
  if (typeof value !== 'object' || value === null) return;
  yield [path, { ...value }];
  for (const [name, inner] of Object.entries(value)) yield* walk(inner, `${path}/${name}`);
}

test.each([
  ['REST', restDocument],
  ['Connect', connectDocument],
])(
  'every constant and enumeration in the document of %s has a type, which generators of clients need',
  (_, document) => {
    const isUntyped = ({ const: constant, enum: values, type }: Readonly<Record<string, unknown>>) =>
      (constant !== undefined || Array.isArray(values)) && type === undefined;
    const untyped = [...walk(document)].filter(([, node]) => isUntyped(node)).map(([path]) => path);
    expect(untyped).toEqual([]);
  },
);

const patterns = [...new Set([restDocument, connectDocument].flatMap((document) => [...walk(document)]))]
  .map(([, { pattern }]) => pattern)
  .filter((pattern) => typeof pattern === 'string');

/** Texts at which engines of regular expressions differ: by flags, by their units of text, and by lines. */
const TEXTS = [
  ...['', 'a', 'plan_2', 'Plan', '.', '..', '...', '.a', 'a.b-c', 'p{Cc}', '{', '\\', 'a/b', 'a'.repeat(64)],
  ...[
    'a\n',
    '\n',
    'a\nb',
    '..\n',
    'a\r',
    'a\u2028',
    'a\0',
    '\u0001',
    '\u001f',
    'a\tb',
    '\u007f',
    'a\u0080',
    '\u009f',
    '\u00a0',
  ],
  ...['é', '\u00e9\u0301', '٣', 'ſ', '\u212a', '\ufeff', '\uffff', '😀', 'a😀\u{10ffff}b', '\u{10000}\n'],
  ...['\ud800', 'a\udc00', '\udbff\udbff', '\udc00\ud800', '😀\ud83d', '\ude00😀'],
  ...['http://a', 'HtTpS://a', 'http:/', 'ftp://a', 'xhttp://a', '\nhttp://a'],
];

describe('the patterns of the documents', () => {
  const matchAll = (flags: string) =>
    patterns.map((pattern) => TEXTS.map((text) => new RegExp(pattern, flags).test(text)));

  test('mean the same in JavaScript with and without flags', () => {
    expect(patterns.length).toBeGreaterThan(5);
    const plain = matchAll('');
    expect(matchAll('u')).toEqual(plain);
    for (const answers of plain) expect(new Set(answers)).toEqual(new Set([true, false]));
  });

  test.skipIf(lacks('PYTHON'))('mean the same in Python', () => {
    const script = `
import json, re, sys
patterns, texts = json.load(sys.stdin)
print(json.dumps([[bool(re.search(pattern, text)) for text in texts] for pattern in patterns]))`;
    const input = JSON.stringify([patterns, TEXTS]);
    const { stdout, stderr } = spawnSync(PYTHON_PATH, ['-c', script], { input, encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(matchAll(''));
  });

  test.each<[string, Rule<unknown>]>([
    ['a text', text({ min: 0, max: 100 })],
    ['an identifier', identifier],
    ['an identifier in a path', pathIdentifier],
    ['a text whose bytes are counted', textOfBytes(100)],
    ['the name of a group', groupRules.name],
  ])('of %s match what its rule takes, and nothing else', (_name, rule) => {
    const { pattern = '', minLength = 0, maxLength = 0 } = rule.schema;
    const texts = TEXTS.filter(({ length }) => length >= minLength && length <= maxLength);
    const taken = texts.filter((value) => takes(rule, value));
    // The rule of bytes counts them. The pattern allows the texts for which JSON Schema counts the same.
    const allowed = pattern === ASCII ? taken.filter((each) => Buffer.byteLength(each) === each.length) : taken;
    expect(texts.filter((each) => new RegExp(pattern).test(each))).toEqual(allowed);
  });
});

function takes(rule: Rule<unknown>, value: string): boolean {
  try {
    check({ value }, { value: rule });
    return true;
  } catch {
    return false;
  }
}

test('the messages of successes are plain strings, so that a clearer message breaks no client', () => {
  const messages = [...walk(restDocument.paths)].filter(([path]) => /\/20[01]\/.*\/properties\/message$/.test(path));
  expect(messages.length).toBeGreaterThan(OPERATIONS.filter(({ route }) => route).length - 1);
  expect(messages.filter(([, node]) => JSON.stringify(node) !== '{"type":"string"}')).toEqual([]);
});

test('GET /openapi.json answers with the document of REST', async () => {
  const reply = await request(service.url, { path: '/openapi.json' });
  expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect(JSON.parse(reply.body)).toEqual(restDocument);
});

test.each(Object.entries(restDocument.webhooks))('the document describes every answer to %s', (_, { post }) => {
  const responses: Readonly<Record<string, { description: string }>> = post.responses;
  const described = (status: number) => (responses[status] ?? responses[`${String(status)[0]}XX`])?.description ?? '';
  const statuses = Array.from({ length: 400 }, (_, index) => 200 + index);
  expect(statuses.filter((status) => !described(status))).toEqual([]);
  expect(statuses.filter((status) => described(status).includes(`\`Retry-After\` of a ${status}`))).toEqual(
    statuses.filter((status) => readRetryAfterMs(status, '10', new Date()) > 0),
  );
});

function find(protocol: Protocol, { method, route }: Operation) {
  const document = protocol === REST ? restDocument : connectDocument;
  const path = protocol === REST ? (route?.path ?? '').replace(/:(\w+)/g, '{$1}') : pathOf(method);
  const verb = protocol === REST ? (route?.method ?? '').toLowerCase() : 'post';
  const documented = (document.paths as unknown as Paths)[path]?.[verb];
  const ajv = validators.get(document);
  if (!documented || !ajv) throw new Error(`No document has ${verb} ${path}`);
  const validate = ({ status, body }: { status: number; body: unknown }) => {
    const key = status in documented.responses ? status : 'default';
    const pointer = ['paths', path, verb, 'responses', String(key), 'content', 'application/json', 'schema'];
    const check = ajv.getSchema(
      `document#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`,
    );
    if (!check) throw new Error(`No schema for ${key}`);
    check(body);
    expect(check.errors ?? [], JSON.stringify(body)).toEqual([]);
  };
  return { documented, validate };
}

function pathOf(method: DescMethodUnary): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function requiredOf(documented: DocumentedOperation): string[] {
  return fieldsOf(documented).flatMap(({ name, required }) => (required ? [name] : []));
}

/** Returns the fields of which a request needs one. */
function alternativesOf({ requestBody }: DocumentedOperation): string[] {
  return (requestBody?.content['application/json'].schema.anyOf ?? []).flatMap(({ required }) => required);
}

/** Returns what a request has, wherever it is. */
function fieldsOf({ parameters = [], requestBody }: DocumentedOperation): readonly Parameter[] {
  const { properties = {}, required = [] } = requestBody?.content['application/json'].schema ?? {};
  const ofBody = Object.entries(properties).map(([name, schema]) => {
    return { name, in: 'body', required: required.includes(name), schema };
  });
  // A header is no field of the request.
  return [...parameters.filter((parameter) => parameter.in !== 'header'), ...ofBody];
}

/** Returns any request that the document allows. Half have the IDs of the sample, whose resource is there. */
function requestsOf(documented: DocumentedOperation, sample: JsonObject): fc.Arbitrary<JsonObject> {
  const schemas = fieldsOf(documented).map(({ name, in: place, schema }) => {
    // URL clients drop these segments.
    const values = valuesOf(schema).filter((value) => place !== 'path' || !/^\.{1,2}$/.test(String(value)));
    const known = fc.constant(sample[name]);
    return [name, name.endsWith('Id') && name in sample ? fc.oneof(known, values) : values];
  });
  const alternatives = alternativesOf(documented);
  const all: fc.Arbitrary<JsonObject> = fc.record(Object.fromEntries(schemas), {
    requiredKeys: requiredOf(documented),
  });
  return all
    .filter((fields) => isWindow(fields, sample))
    .filter(({ userId, email }) => !NAME_ONE_USER.has(documented.operationId) || !userId || !email)
    .filter((fields) => alternatives.length === 0 || alternatives.some((name) => (fields[name] ?? null) !== null));
}

/** Operations that take the ID of a user or the address, and not both: documents cannot say that of parameters. */
const NAME_ONE_USER = new Set(['AdminService_ListSignInAttempts']);

/** A document cannot say that an event ends after it starts. One time may not fit the other that a known event has. */
function isWindow({ eventId, startsAt, endsAt }: JsonObject, sample: JsonObject): boolean {
  if (typeof startsAt === 'string' && typeof endsAt === 'string') return startsAt < endsAt;
  return (!startsAt && !endsAt) || eventId !== sample.eventId;
}

/** Returns values that the schema does not allow. Outside of a body every value is text. */
function wrongValuesOf(schema: Schema, isInBody: boolean): JsonValue[] {
  const { format = '', pattern = '', minLength = 1, maxLength, minimum = 0, maximum = 0, maxItems } = schema;
  const [type] = [schema.type].flat();
  if (type === 'integer') return [minimum - 1, maximum + 1, 1.5, 'ten'];
  if (type === 'boolean') return ['yes', 1];
  if (type === 'object') return ['text', 1, [1]];
  if (type === 'array') {
    const ofItems = wrongValuesOf(schema.items ?? {}, isInBody).map((item) => [item]);
    const tooMany = Array((maxItems ?? 0) + 1).fill('text');
    return ['text', {}, tooMany, ...(schema.items?.properties ? [] : ofItems)];
  }
  return [
    ...(isInBody ? [1, true, [1], { text: 'text' }, 'a\ud800b'] : []),
    ...(minLength > 0 ? [''] : []),
    ...(maxLength ? ['a'.repeat(maxLength + 1)] : []),
    ...(pattern.includes('\\x00') ? ['a\0b'] : []),
    ...(pattern.includes('\\x00-\\x1F') ? ['a\nb', 'a\n', 'a\u0085b'] : []),
    ...(pattern.includes('(?!\\.') ? ['.', '..'] : []),
    ...(schema.enum ? ['none-such'] : []),
    ...(WRONG_FORMATS[format] ?? []),
  ];
}

const WRONG_FORMATS: Readonly<Record<string, string[]>> = {
  uuid: ['id', '00000000-0000-4000-8000-00000000000\0'],
  email: ['ada', 'ada@example.com\n'],
  uri: ['/path', 'javascript:alert(1)', 'data:image/png;base64,AAAA', 'ftp://a.test'],
  'date-time': ['soon'],
  'redirect-uri': ['/callback', 'http://app.test/callback'],
  'web-redirect-uri': ['/login', 'http://app.test/login', 'com.example.app:/login', 'https://app.test/#login'],
  'https-uri': ['/terms', 'http://app.test/terms', 'javascript:alert(1)', 'https://u@app.test/', 'https://app.test/"'],
  'support-uri': [
    'mailto:',
    'mailto:a@app.test?bcc=b@app.test',
    'mailto:a@app.test,b@app.test',
    'tel:1',
    'http://app.test/',
  ],
  'login-method': ['', 'E-mail', 'wallet;', '2fa', 'a'.repeat(32)],
  'email-domain': ['ada@example.com', '*.example.com', 'example..com', 'a b'],
  line: ['a\nb', 'a\u0085b'],
  'resource-uri': ['/mcp', 'http://app.test/mcp', 'https://APP.test/', 'https://u@app.test/', 'https://app.test/#a'],
  'scope-name': ['a b', 'a"', 'openid'],
  'client-id': ['App', `client_${'0'.repeat(31)}`, `client_${'A'.repeat(32)}`],
  'ip-address': ['localhost', '192.0.2', '192.0.2.1:80', '[::1]', '::g'],
  color: ['red', '#fc0', '#ffcc0', '#ffcc00;', '#ffcc0g', '#ffcc0000', 'rgb(0,0,0)'],
  'message-id': ['1'],
  'webhook-url': [
    '/usher',
    'http://hooks.test',
    'https://10.0.0.1/',
    'https://u@hooks.test/',
    'https://hooks.test:22/',
  ],
  'page-token': ['x'],
};

/** By format. Each generates values of the schema that are valid in every other respect, too. */
const FORMATS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  uuid: fc.uuid(),
  email: fc.emailAddress(),
  uri: fc.webUrl(),
  'date-time': fc
    .date({ min: new Date('2100-01-01'), max: new Date('2200-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  'redirect-uri': fc.webUrl({ validSchemes: ['https'] }).filter((url) => !url.includes('*')),
  'web-redirect-uri': fc.webUrl({ validSchemes: ['https'] }).filter((url) => !url.includes('*')),
  'https-uri': fc.webUrl({ validSchemes: ['https'], withFragments: true, withQueryParameters: true }),
  'support-uri': fc.constantFrom('mailto:help@app.test', 'https://app.test/help'),
  // This Usher lists no providers, and refuses the IDs of others.
  'login-method': fc.constantFrom('email', 'wallet', 'passkey'),
  'email-domain': fc.domain(),
  line: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }),
  'resource-uri': fc.webUrl({ validSchemes: ['https'] }),
  'client-id': fc.uuid().map((uuid) => `client_${uuid.replaceAll('-', '')}`),
  // The names of a list differ.
  'scope-name': fc.uuid(),
  'ip-address': fc.oneof(fc.ipV4(), fc.ipV6()),
  color: fc.integer({ min: 0, max: 0xffffff }).map((number) => `#${number.toString(16).padStart(6, '0')}`),
  byte: fc.uint8Array({ maxLength: 50_000 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  base64url: fc.uint8Array({ minLength: 1, maxLength: 1_000 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
  'message-id': fc.integer({ min: 1 }).map((id) => `msg_${id}`),
  'webhook-url': fc.webUrl({ validSchemes: ['https'] }),
  // Each operation has fields of its own.
  'field-mask': fc.constant(''),
  // Only the token of a page before is one.
  'page-token': fc.constant(''),
  cursor: fc.constant(''),
};

function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const types = [schema.type ?? []].flat();
  const value = valuesOfType(types[0] ?? '', schema);
  return types.includes('null') ? fc.option(value) : value;
}

function valuesOfType(type: string, schema: Schema): fc.Arbitrary<unknown> {
  const { minLength = 0, maxLength = 100, minimum = 0, maximum = 0, minItems = 0, pattern = '' } = schema;
  switch (type) {
    case 'string': {
      const format = schema.format === undefined ? undefined : FORMATS[schema.format];
      if (format) return format;
      const matches = new RegExp(pattern.replace('$(?!\\n)', '$'), 'u');
      // Few texts match a pattern that names what is allowed, rather than what is not.
      if (/^\^\[[a-z]/i.test(pattern)) return fc.stringMatching(matches);
      const unit = pattern.includes('\\x7F') ? 'binary-ascii' : 'binary';
      return fc.string({ unit, minLength, maxLength, size: 'max' }).filter((text) => matches.test(text));
    }
    case 'integer':
      return fc.integer({ min: minimum, max: maximum });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}), { minLength: minItems, maxLength: minItems + 3 });
    case 'object': {
      const properties = Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, valuesOf(inner)]);
      const fields: fc.Arbitrary<JsonObject> = fc.record(Object.fromEntries(properties), {
        requiredKeys: [...(schema.required ?? [])],
      });
      return fields;
    }
    default:
      throw new Error(`No values of the type ${type}`);
  }
}
