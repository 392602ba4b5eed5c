/** Which clients and sign-ins are listed, a row for each condition. What people see: test/integration/modules/oidc. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { exportConsents, listResourceClients, listUserClients } from '../../../../src/domain/grants/clients.ts';
import { isOfBrowser, listAccountSessions } from '../../../../src/domain/grants/list-account-sessions.ts';
import { sidOf } from '../../../../src/domain/sessions/sid.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createUser, createApplication } = await openDomain();
const call = callAt();
const CLIENT = 'https://client.test';

type Columns = Readonly<Record<string, unknown>>;

let here: string;
let other: string;
let userId: string;
let stranger: string;
beforeEach(async () => {
  [here, other] = [await createApplication({ name: `App ${randomUUID()}` }), await createApplication()];
  [userId, stranger] = [await createUser(), await createUser()];
});
const grant = (columns: Columns = {}) =>
  insert('oidc_grants', {
    ...{ application_id: here, user_id: userId, client_id: CLIENT, client_name: 'Client' },
    ...columns,
  });
const consent = (columns: Columns = {}) =>
  insert('consents', { application_id: here, user_id: userId, client_id: CLIENT, ...columns });
const deleteHere = () => sql`update applications set deleted_at = ${NOW} where id = ${here}`;
const cutOff = (ms: number, userOf = userId, applicationId = here) =>
  insert('session_cutoffs', { application_id: applicationId, user_id: userOf, cutoff_at: at(ms) });
const cutOffUser = (ms: number, id = userId) => insert('user_cutoffs', { user_id: id, cutoff_at: at(ms) });

type Prepare = () => readonly (() => PromiseLike<unknown>)[];
const run = async (prepare: Prepare) => {
  for (const step of prepare()) await step();
};

describe('a client of a user is listed', () => {
  test.each<[string, prepare: Prepare, usedMs: number | undefined]>([
    ['with a grant', () => [grant], -HOUR],
    ['with a consent', () => [consent], -HOUR],
    ['once with both', () => [() => consent({ created_at: at(-1) }), grant], -HOUR],
    ['by its last refresh', () => [() => grant({ rotated_at: at(-5) })], -5],
    ['by the last of its grants', () => [() => grant({ created_at: at(-7) }), grant], -7],
    ['with a grant that ends next', () => [() => grant({ expires_at: at(1) })], -HOUR],
    ['not with one that ends now', () => [() => grant({ expires_at: NOW })], undefined],
    ['not with one of somebody else', () => [() => grant({ user_id: stranger })], undefined],
    ['not if it is registered', () => [() => grant({ client_name: null })], undefined],
    ['not after a cut-off', () => [grant, () => cutOff(-HOUR)], undefined],
    ['after an earlier cut-off', () => [grant, () => cutOff(-HOUR - 1)], -HOUR],
    ['not with a grant of a deleted application', () => [grant, deleteHere], undefined],
    ['not with a consent of a deleted application', () => [consent, deleteHere], undefined],
    ['not with the consent of somebody else', () => [() => consent({ user_id: stranger })], undefined],
    ['not with a consent from before a cut-off', () => [consent, () => cutOffUser(-HOUR)], undefined],
    ['with a consent from after it', () => [consent, () => cutOffUser(-HOUR - 1)], -HOUR],
    ['beside the cut-off of somebody else', () => [consent, () => cutOffUser(0, stranger)], -HOUR],
  ])('%s', async (_, prepare, usedMs) => {
    await run(prepare);
    const used = { applicationId: here, clientId: CLIENT, clientName: 'Client' };
    expect(await listUserClients(call, userId)).toMatchObject(
      usedMs === undefined ? [] : [{ ...used, usedAt: at(usedMs) }],
    );
  });

  test('beside others, the last used first', async () => {
    await grant({ created_at: at(-3) });
    await consent({ application_id: other, created_at: at(-2) });
    await consent({ client_id: 'another', created_at: at(-4) });
    const found = await listUserClients(call, userId);
    expect(found.map(({ applicationId, clientId }) => [applicationId, clientId])).toEqual([
      [other, CLIENT],
      [here, CLIENT],
      [here, 'another'],
    ]);
  });
});

test('the clients of a resource are counted by their live grants', async () => {
  for (const columns of [
    ...[{}, { user_id: stranger }, { expires_at: at(1) }, { expires_at: NOW }, { application_id: other }],
    ...[{ authenticated_at: at(-DAY) }, { client_id: null }, { client_id: 'b' }, { client_id: 'a', client_name: null }],
  ])
    await grant(columns);
  await cutOff(-DAY);
  expect(await listResourceClients(call, here)).toEqual([
    { clientId: CLIENT, clientName: 'Client', grants: 3 },
    { clientId: 'a', clientName: null, grants: 1 },
    { clientId: 'b', clientName: 'Client', grants: 1 },
  ]);
});

test('an export has the consents of the user, the first one first', async () => {
  for (const columns of [{ client_id: 'b', created_at: at(-1) }, {}, { user_id: stranger }]) await consent(columns);
  const { consents } = await exportConsents(call, userId);
  expect(consents.map(({ clientId }) => clientId)).toEqual([CLIENT, 'b']);
});

describe('a sign-in of a user is listed', () => {
  const session = (columns: Columns = {}) => insert('sessions', { application_id: here, user_id: userId, ...columns });
  const [AS_SESSION, AS_GRANT] = [false, true];
  test.each<[string, prepare: Prepare, listed: readonly boolean[]]>([
    ['as a session', () => [session], [AS_SESSION]],
    ['as a grant', () => [() => grant({ sid: randomUUID() })], [AS_GRANT]],
    ['as a grant alone, with both', () => [session, () => grant({ sid: randomUUID() })], [AS_GRANT]],
    [
      'not if it is of somebody else',
      () => [() => session({ user_id: stranger }), () => grant({ user_id: stranger })],
      [],
    ],
    ['not in a deleted application', () => [session, deleteHere], []],
    ['not as a grant in a deleted application', () => [grant, deleteHere], []],
    ['not as a grant that ends now', () => [() => grant({ expires_at: NOW })], []],
    ['not as a grant after a cut-off', () => [grant, () => cutOff(-HOUR)], []],
  ])('%s', async (_, prepare, listed) => {
    await run(prepare);
    const found = await listAccountSessions(call, userId);
    expect(found.map(({ sid }) => sid !== undefined)).toEqual(listed);
    for (const each of found) expect(each.applicationId).toBe(here);
  });

  test('as that of a browser', () => {
    const [digest, another] = [randomBytes(32), randomBytes(32)];
    const shown = { applicationId: here, browserDigest: digest } as never;
    const ofGrant = { applicationId: here, browserDigest: another, sid: sidOf(here, userId, digest) } as never;
    expect([digest, another].map((each) => isOfBrowser(shown, userId, each))).toEqual([true, false]);
    expect([digest, another].map((each) => isOfBrowser(ofGrant, userId, each))).toEqual([true, false]);
    expect(isOfBrowser({ applicationId: here, browserDigest: null } as never, userId, digest)).toBe(false);
  });
});
