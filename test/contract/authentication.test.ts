/** Authentication: which credentials are accepted, for every operation, over every protocol, whatever the body. */
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import type { Operation } from '../../src/api/catalogue.ts';
import { generateApiKey } from '../../src/domain/applications/api-key.ts';
import { refusal } from '../support/answers.ts';
import { OPERATIONS } from '../support/operations.ts';
import {
  answerOf,
  call,
  frame,
  mainProtocolOf,
  PROTOCOLS,
  type Protocol,
  send,
  supports,
} from '../support/protocols.ts';
import { sampleFields } from '../support/samples.ts';
import { ADMIN_KEY, adminClient, createTenant, type Tenant } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const INVALID_API_KEY = refusal('unauthenticated', 'Invalid API key');
const INVALID_ADMIN_KEY = refusal('unauthenticated', 'Invalid admin key');

const fixture = await openContractFixture();
const { service, tenant } = fixture;
const admin = adminClient(service);
const deletedTenant = await createTenant(service, { name: 'Deleted' });
const revokedKey = await createRevokedKey(tenant);
const revokedKeyOfDeleted = await createRevokedKey(deletedTenant);
await admin.deleteApplication({ applicationId: deletedTenant.id });

async function createRevokedKey({ id }: Tenant): Promise<string> {
  const { apiKeyId, apiKey } = await admin.createApiKey({ applicationId: id });
  await admin.revokeApiKey({ apiKeyId });
  return apiKey;
}

const refusedOf = ({ credential }: Operation) => (credential === 'apiKey' ? INVALID_API_KEY : INVALID_ADMIN_KEY);
const operations = OPERATIONS.map((operation) => ({ ...operation, name: operation.method.name }));

describe.each(operations)('$name', (operation) => {
  const { method } = operation;
  const main = mainProtocolOf(method);

  it('returns 401 without its credential, before it looks at the fields and at the body', async () => {
    const refused = refusedOf(operation);
    const fields = await sampleFields(method, fixture);
    const unknown = { 'x-api-key': generateApiKey(), 'x-admin-key': generateApiKey() };
    const ofOthers = { 'x-admin-key': tenant.apiKey, 'x-api-key': ADMIN_KEY };
    for (const headers of [{}, unknown, ofOthers]) {
      expect(await call(main, service.url, method, fields, headers)).toEqual(refused);
    }
    expect(await call(main, service.url, method, {}, {})).toEqual(refused);
    const unreadable = await send(main, service.url, { method, fields, body: '{"state":' });
    expect(answerOf(main, method, unreadable)).toEqual(refused);
  });
});

describe('An operation of applications', () => {
  it.each(operations.filter(({ credential }) => credential === 'apiKey'))(
    'returns 401 when the application has been deleted: $name',
    async ({ method }) => {
      const fields = await sampleFields(method, fixture);
      const headers = { 'x-api-key': deletedTenant.apiKey };
      const message = method === EventService.method.deleteEvent ? 'Application not found' : 'Invalid API key';
      const answer = await call(mainProtocolOf(method), service.url, method, fields, headers);
      expect(answer).toEqual(refusal('unauthenticated', message));
    },
  );
});

// Mistyped keys: test/domain/applications/api-key.test.ts. Malformed headers: test/robustness/rest-malformed.test.ts.
it.each<[string, Record<string, string>]>([
  ['has been revoked', { 'x-api-key': revokedKey }],
  ['of a deleted application has been revoked', { 'x-api-key': revokedKeyOfDeleted }],
  ['is the ID of a key', { 'x-api-key': tenant.apiKeyId }],
  ['is missing beside the admin key', { 'x-admin-key': ADMIN_KEY }],
])('An API key is refused when it %s', async (_, headers) => {
  for (const method of [EventService.method.deleteEvent, EventService.method.checkIn]) {
    const fields = await sampleFields(method, fixture);
    expect(await call(mainProtocolOf(method), service.url, method, fields, headers)).toEqual(INVALID_API_KEY);
  }
});

it.each<[string, Record<string, string>]>([
  ['is empty', { 'x-admin-key': '' }],
  ['is wrong', { 'x-admin-key': 'not-the-admin-key-for-tests-of-sufficient-length' }],
  ['is cut short', { 'x-admin-key': ADMIN_KEY.slice(0, -1) }],
  ['is too long', { 'x-admin-key': `${ADMIN_KEY}h` }],
  ['differs in case', { 'x-admin-key': ADMIN_KEY.toUpperCase() }],
  ['is missing beside an API key', { 'x-api-key': tenant.apiKey }],
])('The admin key is refused when it %s', async (_, headers) => {
  const method = AdminService.method.deleteUser;
  const fields = await sampleFields(method, fixture);
  expect(await call(mainProtocolOf(method), service.url, method, fields, headers)).toEqual(INVALID_ADMIN_KEY);
});

/** Bodies that cannot be read, as the protocol would carry them. */
function brokenBodiesOf({ isJson, isFramed, encodingHeader, wrap }: Protocol) {
  const malformed = isJson ? Buffer.from('{"state":') : Buffer.from([0x0a, 0xff]);
  const compressed = wrap(malformed, { isCompressed: true });
  const bodies: [title: string, body: Uint8Array, headers?: Record<string, string>][] = [
    ['malformed', wrap(malformed)],
    ['oversize', wrap(Buffer.alloc(200_000, 0x20))],
    ['not compressed as it says', compressed, { [encodingHeader]: 'gzip' }],
    ['compressed in a way nobody knows', compressed, { [encodingHeader]: 'none-such' }],
  ];
  if (isFramed)
    bodies.push(['a truncated frame', frame(Buffer.alloc(100)).subarray(0, 20)], ['empty', Buffer.alloc(0)]);
  return bodies;
}

describe.each(PROTOCOLS)('A body without a credential, $name,', (protocol) => {
  const { exchangeToken } = AuthService.method;
  const { createUser } = AdminService.method;
  const methods: DescMethodUnary[] = [exchangeToken, createUser].filter((method) => supports(protocol, method));

  it.each(brokenBodiesOf(protocol))('is 401 when it is %s', async (_, body, headers = {}) => {
    for (const method of methods) {
      const reply = await send(protocol, service.url, { method, body, headers });
      expect(reply.status).toBe(protocol.isFramed ? 200 : 401);
      const refused = method === createUser ? INVALID_ADMIN_KEY : INVALID_API_KEY;
      expect(answerOf(protocol, method, reply)).toEqual(refused);
    }
    const withKey = { ...headers, 'x-api-key': tenant.apiKey };
    const reply = await send(protocol, service.url, { method: exchangeToken, body, headers: withKey });
    expect(answerOf(protocol, exchangeToken, reply)).not.toMatchObject({ code: 'unauthenticated' });
  });

  it('is not waited for', async () => {
    const request = { method: exchangeToken, isBodyPending: true, headers: { 'x-api-key': generateApiKey() } };
    const reply = await send(protocol, service.url, request);
    expect(answerOf(protocol, exchangeToken, reply)).toEqual(INVALID_API_KEY);
  });
});
