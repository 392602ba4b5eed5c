/** What a call does with fields and query parameters that it does not have, and with those that come twice. */
import { gzipSync } from 'node:zlib';
import { create, type DescMessage, type JsonObject } from '@bufbuild/protobuf';
import { FieldDescriptorProtoSchema, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import type { Operation } from '../../../src/api/catalogue.ts';
import { findUnknownFields, requireUniqueNames } from '../../../src/api/rest/read-fields.ts';
import { pathInside } from '../../../src/api/unknown-fields.ts';
import { openContractFixture } from '../../contract/contract-fixture.ts';
import { validationFailed } from '../../support/answers.ts';
import { request } from '../../support/http.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { answerOf, CONNECT, type Protocol, REST, toRequest } from '../../support/protocols.ts';
import { credentialFor, sampleFields } from '../../support/samples.ts';

/** The calls of the interface document. */
const DOCUMENTED = ['GenerateAuthUrl', 'ExchangeToken', 'GetWebhook', 'DeleteEvent'];
const MAX_NAMED = 10;

const fixture = await openContractFixture();
const { service, tenant } = fixture;
const operations = OPERATIONS.map((operation) => ({ ...operation, name: operation.method.name }));
const strict = operations.filter(({ name }) => !DOCUMENTED.includes(name));
const documented = operations.filter(({ name }) => DOCUMENTED.includes(name));
const withBody = strict.filter(({ route }) => route?.method === 'POST' || route?.method === 'PATCH');
const withRoute = strict.filter(({ route }) => route !== undefined);

/** Sends a valid request with more fields in its body, and more in its query. */
async function callWith(operation: Operation, protocol: Protocol, more: JsonObject, query = '') {
  const { method } = operation;
  const fields = await sampleFields(method, fixture);
  const { body, path, ...sent } = toRequest(protocol, { method, fields, headers: credentialFor(operation, tenant) });
  const whole = { ...(body ? JSON.parse(String(body)) : {}), ...more };
  const hasBody = body !== undefined || Object.keys(more).length > 0;
  const reply = await request(service.url, {
    ...sent,
    path: path + (query && (path.includes('?') ? '&' : '?') + query),
    ...(hasBody && { body: JSON.stringify(whole) }),
    headers: { ...sent.headers, ...(hasBody && { 'content-type': 'application/json' }) },
  });
  return answerOf(protocol, method, reply);
}

describe('An unknown field', () => {
  it.each(strict)('is refused by name over Connect: $name', async (operation) => {
    expect(await callWith(operation, CONNECT, { unheardOf: 1 })).toEqual(validationFailed('unheardOf'));
  });

  it.each(withBody)('is refused by name over REST: $name', async (operation) => {
    expect(await callWith(operation, REST, { unheardOf: 1 })).toEqual(validationFailed('unheardOf'));
  });

  it.each(documented)('is ignored by a call of the interface: $name', async (operation) => {
    for (const protocol of [REST, CONNECT])
      expect((await callWith(operation, protocol, { unheardOf: { nested: [1] } })).code).toBe('ok');
    expect((await callWith(operation, REST, {}, 'unheardOf=1')).code).toBe('ok');
  });

  it('is named with the others, up to ten, in a reply that a hostile body cannot make long', async () => {
    const [operation] = withBody;
    if (!operation) throw new Error('No operation');
    const names = Array.from({ length: 3_000 }, (_, index) => `unknown${index}`);
    const many = Object.fromEntries(names.map((name) => [name, 1]));
    expect((await callWith(operation, REST, many)).fields).toEqual(names.slice(0, MAX_NAMED));
    for (const protocol of [REST, CONNECT]) {
      const { fields } = await callWith(operation, protocol, { ['\ud800"\n<'.repeat(4_000)]: 1 });
      expect(fields).toHaveLength(1);
      expect(fields[0]?.length).toBeLessThan(200);
      expect(fields[0]?.isWellFormed()).toBe(true);
    }
  });

  it.each(['__proto__', 'constructor', '$typeName', 'toString'])('may be named %s', async (name) => {
    const [operation] = withBody;
    if (!operation) throw new Error('No operation');
    const more = JSON.parse(`{${JSON.stringify(name)}:1}`);
    for (const protocol of [REST, CONNECT]) {
      const { method } = operation;
      const fields = await sampleFields(method, fixture);
      const sent = toRequest(protocol, { method, fields, headers: credentialFor(operation, tenant) });
      const body = `{${JSON.stringify(name)}:${JSON.stringify(more)},${String(sent.body).slice(1)}`;
      expect(answerOf(protocol, method, await request(service.url, { ...sent, body }))).toEqual(validationFailed(name));
    }
  });

  it('is refused in a compressed message, too', async () => {
    const { createApplication } = AdminService.method;
    const sent = toRequest(CONNECT, { method: createApplication, fields: {}, headers: { 'x-admin-key': '' } });
    const operation = operations.find(({ method }) => method === createApplication);
    const headers = { ...sent.headers, ...(operation && credentialFor(operation, tenant)), 'content-encoding': 'gzip' };
    const body = gzipSync('{"allowSignUps":true}');
    const reply = await request(service.url, { ...sent, headers, body });
    expect(answerOf(CONNECT, createApplication, reply)).toEqual(validationFailed('allowSignUps'));
  });
});

describe('An unknown query parameter', () => {
  it.each(withRoute)('is refused by name: $name', async (operation) => {
    expect(await callWith(operation, REST, {}, 'unheardOf=1&&un%C3%A4=')).toEqual(validationFailed('unheardOf', 'unä'));
  });
});

/** Sends a valid request in whose body the first name comes twice, first with another value. */
async function callTwice(operation: Operation, protocol: Protocol) {
  const { method } = operation;
  const fields = await sampleFields(method, fixture);
  const sent = toRequest(protocol, { method, fields, headers: credentialFor(operation, tenant) });
  const whole: JsonObject = JSON.parse(String(sent.body) || '{}');
  const name = Object.keys(whole)[0] ?? method.input.fields[0]?.jsonName ?? '';
  const rest = JSON.stringify({ [name]: null, ...whole }).slice(1);
  const body = `{${JSON.stringify(name)}:null,${rest}`;
  return { name, answer: answerOf(protocol, method, await request(service.url, { ...sent, body })) };
}

describe('A name that comes twice', () => {
  it.each(operations.filter(({ method }) => method.input.fields.length > 0))(
    'is refused over Connect: $name',
    async (operation) => {
      expect((await callTwice(operation, CONNECT)).answer).toEqual(validationFailed('body'));
    },
  );

  it.each(strict.filter(({ route }) => Object.values(route?.fields ?? {}).includes('body')))(
    'is refused by name over REST: $name',
    async (operation) => {
      const { name, answer } = await callTwice(operation, REST);
      expect(answer).toEqual(validationFailed(name));
    },
  );

  it.each(documented)('has its last value in a call of the interface over REST: $name', async (operation) => {
    expect((await callTwice(operation, REST)).answer.code).toBe('ok');
  });
});

describe('requireUniqueNames', () => {
  it.each([
    ['{"a":1,"a":1}'],
    ['{"a":{},"b":[{"c":1 , "c" : 2}]}'],
    ['{"\\u0061":1,"a":2}'],
    ['{"a":"\\\\\\"","a":1}'],
    ['{"":1,"":2}'],
    ['{"__proto__":1,"__proto__":2}'],
  ])('refuses %s', (json) => {
    JSON.parse(json);
    expect(() => requireUniqueNames(json)).toThrow('Validation failed');
  });

  it.each([
    ['{}'],
    ['{"a":{"a":1},"b":{"a":1}}'],
    ['{"a":[{"b":1},{"b":2}]}'],
    ['{"a":"\\"a\\":1","b":"{\\"b\\":1"}'],
    ['{"a":"b","b":"a","c":["a","a"]}'],
    ['{"constructor":1,"toString":2}'],
    ['{"a":"x:","x":"y","A":1}'],
  ])('takes %s', (json) => {
    JSON.parse(json);
    expect(() => requireUniqueNames(json)).not.toThrow();
  });
});

describe('The path of an unknown field', () => {
  // Requests have messages in lists at most. These of Protobuf are nested deeper, and Protobuf's own types.
  const schema = renamed(FileDescriptorProtoSchema);
  const inner = renamed(FieldDescriptorProtoSchema);

  it('leads through lists and messages', () => {
    const value = { options: { one: 1 }, messageType: [{ name: 'a' }, { field: [{ two: 2 }], three: {} }], four: [] };
    const paths = ['options.one', 'messageType[1].field[0].two', 'messageType[1].three', 'four'];
    expect(findUnknownFields(schema, value)).toEqual(paths);
    expect(findUnknownFields(schema, { options: 7, messageType: [null, 'text'] })).toEqual([]);
  });

  it('comes from the type of the message where the decoder tells no more', () => {
    expect(pathInside(schema, schema.typeName, 'more')).toBe('more');
    expect(pathInside(schema, 'test.FieldOptions', 'more')).toBe('messageType.field.options.more');
    expect(inner.typeName).toBe('test.FieldDescriptorProto');
    expect(create(FieldDescriptorProtoSchema).$typeName).toBe('google.protobuf.FieldDescriptorProto');
  });

  /** Types of `google.protobuf` have a JSON form of their own, which is not looked into. */
  function renamed(message: DescMessage, seen = new Map<DescMessage, DescMessage>()): DescMessage {
    const known = seen.get(message);
    if (known) return known;
    const copy: DescMessage = Object.create(message, {
      typeName: { value: message.typeName.replace('google.protobuf', 'test') },
    });
    seen.set(message, copy);
    const fields = message.fields.map((field) =>
      field.message ? Object.create(field, { message: { value: renamed(field.message, seen) } }) : field,
    );
    Object.defineProperty(copy, 'fields', { value: fields });
    return copy;
  }
});

it('CreateApplication takes all that UpdateApplication takes', () => {
  const namesOf = ({ fields }: DescMessage) => fields.map(({ name }) => name);
  const { createApplication, updateApplication } = AdminService.method;
  const changeable = namesOf(updateApplication.input).filter(
    (name) => !['application_id', 'update_mask'].includes(name),
  );
  expect(namesOf(createApplication.input)).toEqual(expect.arrayContaining(changeable));
});
