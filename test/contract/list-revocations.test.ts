/** Lists of what has ended. Each way to end something: revocations.test.ts, test/robustness/endings.test.ts. */
import { randomUUID } from 'node:crypto';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { expect, it } from 'vitest';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { pause } from '../../src/pause.ts';
import { refusal, success } from '../support/answers.ts';
import { CONNECT, call, PROTOCOLS } from '../support/protocols.ts';
import { adminClient, beginSession, clientsOf, createTenant, createTestUser } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const { service, tenant, other, credentials } = await openContractFixture();
const { listRevocations } = SessionService.method;
const admin = adminClient(service);
const { sessions } = clientsOf(service, tenant);
const { sql } = service.database;

/** Returns the cursor from which on an application misses nothing. */
const begin = async (of = tenant) => (await clientsOf(service, of).sessions.listRevocations({})).until;

/** Returns what an application is told, and not what is repeated to it from before. */
async function listSince(since: string, of = tenant, before: readonly unknown[] = []) {
  const { revocations } = await clientsOf(service, of).sessions.listRevocations({ since });
  const told = revocations.map(({ subject }) => subject.value);
  return told.filter((each) => !before.includes(each));
}

it.each(PROTOCOLS)('a revocation is in the answer of the next call, and not of the first ($name)', async (protocol) => {
  const user = await createTestUser(service);
  const sessionId = await beginSession(service, tenant, user);
  const { session } = await sessions.checkSession({ sessionId, maxStalenessMs: 0 });
  const list = (fields: { since?: string }) => call(protocol, service.url, listRevocations, fields, credentials);
  const message = protocol.kind === 'rest' ? 'Revocations retrieved successfully' : '';
  const first = await list({});
  expect(first).toEqual({ ...success(undefined, message), data: { revocations: [], until: expect.any(String) } });
  await sessions.revokeSession({ sessionId });
  const { until } = first.data as { until: string };
  const { data } = await list({ since: until });
  const { revocations } = data as { revocations: { userId?: string; cutoffAt: string }[] };
  const own = revocations.filter(({ userId }) => userId === user.id);
  expect(own).toEqual([{ userId: user.id, cutoffAt: expect.any(String) }]);
  const signedInAt = session?.signedInAt ? timestampMs(session.signedInAt) : Number.NaN;
  expect(Date.parse(own[0]?.cutoffAt ?? '')).toBeGreaterThanOrEqual(signedInAt);
});

it('a new sign-in is later than the revocation', async () => {
  const user = await createTestUser(service);
  await beginSession(service, tenant, user);
  const since = await begin();
  await sessions.revokeUserSessions({ userId: user.id });
  const sessionId = await beginSession(service, tenant, user);
  const [{ session }, { revocations }, listed] = await Promise.all([
    sessions.checkSession({ sessionId, maxStalenessMs: 0 }),
    sessions.listRevocations({ since }),
    sessions.listSessions({ userId: user.id }),
  ]);
  const told = revocations.find(({ subject }) => subject.value === user.id);
  const signedInAt = session?.signedInAt;
  if (!signedInAt || !told?.cutoffAt) throw new Error('Nothing is told');
  expect(timestampMs(signedInAt)).toBeGreaterThan(timestampMs(told.cutoffAt));
  expect(listed.sessions[0]?.signedInAt).toEqual(signedInAt);
});

it('an application is told what ends its own users, and nothing of others', async () => {
  const [both, foreign, stranger] = [
    await createTestUser(service),
    await createTestUser(service),
    await createTestUser(service),
  ];
  for (const user of [both, foreign]) await beginSession(service, other, user);
  await beginSession(service, tenant, both);
  const [here, there] = [await begin(), await begin(other)];
  for (const { id: userId } of [both, foreign, stranger]) await admin.endUserSessions({ userId });
  await clientsOf(service, other).sessions.revokeUserSessions({ userId: stranger.id });
  const ids = [both.id, foreign.id, stranger.id];
  const own = (told: readonly unknown[]) => ids.filter((id) => told.includes(id));
  expect(own(await listSince(here))).toEqual([both.id]);
  expect(own(await listSince(there, other))).toEqual(ids);
});

it.each([
  ['DeleteUser', (userId: string) => admin.deleteUser({ userId })],
  ['EraseUser', (userId: string) => admin.eraseUser({ userId })],
])('%s is told after the rows of the user have gone', async (_, end) => {
  const user = await createTestUser(service);
  await beginSession(service, tenant, user);
  const [here, there] = [await begin(), await begin(other)];
  await end(user.id);
  expect(await listSince(here)).toContain(user.id);
  expect(await listSince(there, other)).not.toContain(user.id);
});

it('ReactivateUser is told with a cut-off of its own, after that of DeactivateUser', async () => {
  const { id: userId } = await createTestUser(service);
  await beginSession(service, tenant, { id: userId });
  const since = await begin();
  const readCutoff = async () => {
    const { revocations } = await sessions.listRevocations({ since });
    const told = revocations.find(({ subject }) => subject.value === userId);
    return told?.cutoffAt ? timestampMs(told.cutoffAt) : Number.NaN;
  };
  await admin.deactivateUser({ userId });
  const deactivatedAt = await readCutoff();
  await pause(2);
  await admin.reactivateUser({ userId });
  expect(await readCutoff()).toBeGreaterThan(deactivatedAt);
});

it('a restriction is told until those whom it refuses are told one by one', async () => {
  const closed = await createTenant(service);
  const user = await createTestUser(service);
  await beginSession(service, closed, user);
  const since = await begin(closed);
  await admin.updateApplication({ applicationId: closed.id, restrictAccess: true });
  expect(await listSince(since, closed)).toContain(user.id);
  const later = await begin(closed);
  await sql`update session_cutoffs set changed_at = now() - interval '1 day' where application_id = ${closed.id}`;
  expect(await listSince(later, closed)).toEqual([true]);
  await sql`delete from session_cutoffs where application_id = ${closed.id} and cutoff_at = 'infinity'`;
  expect(await listSince(later, closed)).toEqual([]);
});

it.each([
  ['openIdConnect', { openIdConnect: false }],
  ['allowMetadataClients', { allowMetadataClients: false }],
  ['machineClientIds', { machineClientIds: [], updateMask: { paths: ['machine_client_ids'] } }],
  ['requiredAssurance', { requiredAssurance: 'PHISHING_RESISTANT' }],
])('a change of %s makes readers ask again, and an update without one does not', async (_, change) => {
  const resource = await createTenant(service, {
    openIdConnect: true,
    allowMetadataClients: true,
    machineClientIds: [other.clientId],
    resourceUri: `https://${randomUUID()}.test`,
  });
  const { id: applicationId } = resource;
  const since = await begin(resource);
  await admin.updateApplication({ applicationId, name: 'Renamed', openIdConnect: true });
  expect(await listSince(since, resource)).toEqual([]);
  await admin.updateApplication({ applicationId, ...change });
  expect(await listSince(since, resource)).toEqual([true]);
});

it('the resources of a client are told when the client may not use OpenID Connect any more', async () => {
  const client = await createTenant(service, { openIdConnect: true });
  const create = () =>
    createTenant(service, {
      openIdConnect: true,
      machineClientIds: [client.clientId],
      resourceUri: `https://${randomUUID()}.test`,
    });
  const resource = await create();
  const since = await begin(resource);
  await admin.updateApplication({ applicationId: client.id, openIdConnect: false });
  expect(await listSince(since, resource)).toEqual([true]);
  const later = await create();
  const afterwards = await begin(later);
  await admin.deleteApplication({ applicationId: client.id });
  expect(await listSince(afterwards, later)).toEqual([true]);
});

it('more than 10,000 revocations become one for every user', async () => {
  const crowded = await createTenant(service);
  const since = await begin(crowded);
  await sql`insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent,
      authenticated_at, rotation, created_at, expires_at, ended_at)
    select ${crowded.id}, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'page', '', '', now(), 0, now(),
      'epoch', now() + n * interval '1 ms'
    from generate_series(0, 9999) n`;
  expect(await listSince(since, crowded)).toHaveLength(10_000);
  const [last] = await sql`update oidc_grants set ended_at = now() + interval '20 seconds' where id =
    (select id from oidc_grants where application_id = ${crowded.id} limit 1) returning ended_at`;
  await sql`insert into session_cutoffs (application_id, user_id, cutoff_at, expires_at)
    values (${crowded.id}, ${(await createTestUser(service)).id}, now(), 'infinity')`;
  const { revocations } = await clientsOf(service, crowded).sessions.listRevocations({ since });
  expect(revocations.map(({ subject }) => subject)).toEqual([{ case: 'everyUser', value: true }]);
  expect(revocations[0]?.cutoffAt && timestampMs(revocations[0].cutoffAt)).toBe(last?.ended_at.getTime());
});

it.each([
  ['was damaged', async () => `${(await begin()).slice(0, -2)}xx`],
  ['is none', async () => 'anything'],
  ['is of another application', () => begin(other)],
])('a cursor that %s has expired', async (_, create) => {
  const answer = await call(CONNECT, service.url, listRevocations, { since: await create() }, credentials);
  expect(answer).toEqual(refusal('failed_precondition', 'Cursor expired'));
});
