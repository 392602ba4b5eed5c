/** What a call does with a JSON object that has a name twice. */
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../../src/api/catalogue.ts';
import { requireUniqueNames } from '../../../src/api/rest/read-fields.ts';
import { openContractFixture } from '../../contract/contract-fixture.ts';
import { validationFailed } from '../../support/answers.ts';
import { request } from '../../support/http.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { answerOf, CONNECT, type Protocol, REST, toRequest } from '../../support/protocols.ts';
import { credentialFor, sampleFields } from '../../support/samples.ts';

/** The calls of the interface document. */
const DOCUMENTED = ['GenerateAuthUrl', 'ExchangeToken', 'GetWebhook', 'DeleteEvent'];

const fixture = await openContractFixture();
const { service, tenant } = fixture;
const operations = OPERATIONS.map((operation) => ({ ...operation, name: operation.method.name }));
const withBody = operations.filter(
  ({ name, route }) => !DOCUMENTED.includes(name) && Object.values(route?.fields ?? {}).includes('body'),
);

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

  it.each(withBody)('is refused by name over REST: $name', async (operation) => {
    const { name, answer } = await callTwice(operation, REST);
    expect(answer).toEqual(validationFailed(name));
  });

  it.each(operations.filter(({ name }) => DOCUMENTED.includes(name)))(
    'has its last value in a call of the interface over REST: $name',
    async (operation) => {
      expect((await callTwice(operation, REST)).answer.code).toBe('ok');
    },
  );
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
