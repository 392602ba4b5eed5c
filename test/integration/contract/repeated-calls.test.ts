/** A call that changes nothing leaves no event in the audit log and tells no webhook. */
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it, vi } from 'vitest';
import { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { Database } from '../../../src/database/pool/database.ts';
import { isUniqueViolation } from '../../../src/database/sql/errors.ts';
import { openContractFixture } from '../../contract/contract-fixture.ts';
import { TestClock } from '../../support/clock.ts';
import { dumpTables } from '../../support/dump.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { call, mainProtocolOf } from '../../support/protocols.ts';
import { credentialFor, sampleFields } from '../../support/samples.ts';
import { beginSession, clientsOf, createTenant, createTestUser, createTestWebhook } from '../../support/service.ts';

const clock = new TestClock();
const { service } = await openContractFixture({ clock: clock.read });
const { sql } = service.database;
const READS = /^(Get|List|Check(?!In)|GenerateAuthUrl$|CancelLogin$)/;
/** They end auth tokens that have not been exchanged, of which Usher does not know. */
const EVER_NEW = ['EndUserSessions', 'ResetSecondFactor', 'RevokeUserSessions'];

/** Returns all rows but those that say when something ended last, and how often, what a job looks at, or that a call was made. */
async function dumpState() {
  const { audit_events, session_cutoffs, unfinished_changes, user_cutoffs, users, ...state } = await dumpTables(
    service.database,
  );
  const people = users?.map((row) => row.replace(/"cutoff_count": \d+/, ''));
  return { state: { ...state, people }, events: audit_events?.length };
}

const unchanged: string[] = [];

describe.each(
  OPERATIONS.filter(({ method }) => !READS.test(method.name)).map((operation) => ({
    ...operation,
    name: operation.method.name,
  })),
)('$name', (operation) => {
  const { method } = operation;

  it('has one event if it is called twice and changes nothing the second time', async () => {
    const [tenant, user] = [await createTenant(service), await createTestUser(service)];
    await subscribe(tenant);
    await beginSession(service, tenant, user);
    const fields = await sampleFields(method, { service, tenant, user });
    const send = () =>
      call(mainProtocolOf(method), service.url, method, fields, credentialFor(operation, tenant)) as Promise<{
        code: string;
      }>;
    expect(await send()).toMatchObject({ code: 'ok' });
    clock.advance(1_000);
    // Deliveries of earlier calls go on meanwhile, and change their rows at any time.
    for (let tries = 3; tries > 0; tries--) {
      const before = await dumpState();
      await send();
      const after = await dumpState();
      if (JSON.stringify(after.state) !== JSON.stringify(before.state)) continue;
      unchanged.push(method.name);
      expect(after.events).toBe((before.events ?? 0) + (EVER_NEW.includes(method.name) ? 1 : 0));
      return;
    }
  });
});

it('Some calls change nothing the second time', () => {
  // Otherwise nothing was compared.
  expect(unchanged).toEqual(
    expect.arrayContaining([
      'AddApplicationUser',
      'CreateEvent',
      'DeactivateUser',
      'DeleteEvent',
      'EraseUser',
      'ExchangeToken',
      'ReactivateUser',
      'RemoveApplicationUser',
      'RevokeSession',
      'UpdateApplication',
      'UpdateUser',
      'UpdateWebhook',
    ]),
  );
});

const { updateUser, reactivateUser, deactivateUser, updateApplication } = AdminService.method;

describe.each<[string, (ids: { userId: string; applicationId: string }) => [DescMethodUnary, JsonObject][]]>([
  ['of a user', ({ userId }) => [[updateUser, { userId, name: 'Ada', profileImage: 'https://img.test/a' }]]],
  [
    'of an application',
    ({ applicationId }) => [[updateApplication, { applicationId, askName: true, allowSignUp: true }]],
  ],
  [
    'of who may sign in',
    ({ userId }) => [
      [deactivateUser, { userId }],
      [reactivateUser, { userId }],
    ],
  ],
])('Changes %s', (_, callsOf) => {
  it('are told once, also if two calls make the same at the same time', async () => {
    const [tenant, user] = [await createTenant(service), await createTestUser(service)];
    await subscribe(tenant);
    await beginSession(service, tenant, user);
    const before = await countEvents();
    const calls = callsOf({ userId: user.id, applicationId: tenant.id });
    for (const [method, fields] of calls) {
      const send = () =>
        call(
          mainProtocolOf(method),
          service.url,
          method,
          fields,
          credentialFor({ credential: 'adminKey' } as never, tenant),
        );
      const answers = await Promise.all([send(), send(), send(), send()]);
      for (const answer of answers) expect(answer).toEqual(answers[0]);
    }
    expect((await countEvents()) - before).toBe(calls.length);
  });
});

it('UpdateWebhook with the URL and state that the webhook has leaves the backoff of its endpoint', async () => {
  const tenant = await createTenant(service);
  const url = 'https://hooks.test/same';
  const { webhookId } = await createTestWebhook(service, tenant, { url });
  const failing = { failed_batches: 5, next_at: new Date(Date.now() + 3_600_000) };
  await sql`insert into webhook_queues ${sql({ application_id: tenant.id, webhook_id: webhookId, ...failing })}`;
  const queue = () => sql`select failed_batches, next_at from webhook_queues where webhook_id = ${webhookId}`;
  const { webhooks } = clientsOf(service, tenant);
  await webhooks.updateWebhook({ webhookId, url, isActive: true, description: 'New' });
  expect(await queue()).toEqual([failing]);
  await webhooks.updateWebhook({ webhookId, url: `${url}/no-more` });
  expect(await queue()).toEqual([{ failed_batches: 0, next_at: clock.read() }]);
});

it('An address that another user has violates no index, which would put it into the log of Postgres', async () => {
  const run = vi.spyOn(Database.prototype, 'run');
  const [user, other] = [await createTestUser(service), await createTestUser(service)];
  const { email, walletAddress } = other;
  const taken = [
    { method: updateUser, fields: { userId: user.id, email: email.toUpperCase() } },
    { method: updateUser, fields: { userId: user.id, walletAddress: walletAddress.toUpperCase() } },
    { method: AdminService.method.createUser, fields: { email } },
    { method: AdminService.method.createUser, fields: { email: `new.${email}`, walletAddress } },
  ];
  for (const { method, fields } of taken) {
    const headers = credentialFor({ credential: 'adminKey' } as never, { apiKey: '' });
    const answer = await call(mainProtocolOf(method), service.url, method, fields, headers);
    expect(answer).toMatchObject({ code: 'already_exists', message: 'User already exists' });
  }
  const results = await Promise.allSettled(run.mock.results.map(({ value }) => value));
  run.mockRestore();
  // Statements of other services in this process may fail when their databases end.
  expect(results.filter((result) => result.status === 'rejected' && isUniqueViolation(result.reason))).toEqual([]);
});

async function subscribe(tenant: Awaited<ReturnType<typeof createTenant>>): Promise<void> {
  const { webhookId } = await createTestWebhook(service, tenant);
  await clientsOf(service, tenant).webhooks.updateWebhook({ webhookId, eventTypes: ['*'] });
}

async function countEvents(): Promise<number> {
  return (await sql`select from audit_events`).length;
}
