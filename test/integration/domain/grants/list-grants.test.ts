/** Each condition of the lists of grants and of what they are for, a row each. What people see: test/integration/modules/oidc. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { exportConsents, listResourceClients, listUserClients } from '../../../../src/domain/grants/clients.ts';
import { isOfBrowser, listAccountSessions } from '../../../../src/domain/grants/list-account-sessions.ts';
import { listGrants, listUserGrants } from '../../../../src/domain/grants/list-grants.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { sidOf } from '../../../../src/domain/sessions/sid.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, callOf, createUser, createApplication } = await openDomain();
const call = callAt();
const CLIENT = 'https://client.test';
const SIGNED_IN = at(-HOUR);
const tokens = new PageTokens([randomBytes(32)]);

let here: string;
let other: string;
let userId: string;
let digest: Buffer;
let sid: string;
beforeEach(async () => {
  [here, other, userId, digest] = [
    await createApplication(),
    await createApplication(),
    await createUser(),
    randomBytes(32),
  ];
  sid = sidOf(here, userId, digest);
});

type Columns = Readonly<Record<string, unknown>>;

/** Inserts a grant of the user's browser. Returns its ID. */
const insertGrant = async (columns: Columns = {}): Promise<string> =>
  (await insert('oidc_grants', { application_id: here, user_id: userId, sid, ...columns })).id;

type Dead = [string, Columns, (() => Promise<unknown>)?];

/** What a list of live grants leaves out, whoever asks. */
const DEAD: Dead[] = [
  ['that ends now', { expires_at: NOW }],
  ['of somebody else', { user_id: randomUUID() }],
  ['before a cut-off', {}, () => insert('session_cutoffs', { application_id: here, user_id: userId })],
];
const deleteHere = () => sql`update applications set deleted_at = ${NOW} where id = ${here}`;

describe('the clients of a user', () => {
  const list = async () => (await listUserClients(call, userId)).map(({ clientId, usedAt }) => [clientId, usedAt]);
  const named = { client_id: CLIENT, client_name: 'Client' };

  test.each<Dead>([
    ...DEAD,
    ['without a name', { client_name: null }],
    ['of a deleted application', {}, async () => deleteHere()],
  ])('have no grant %s', async (_, columns, change) => {
    await insertGrant({ ...named, ...columns });
    await change?.();
    expect(await list()).toEqual([]);
  });

  test.each<Dead>([
    ['of somebody else', { user_id: randomUUID() }],
    ['before a cut-off', {}, () => insert('user_cutoffs', { user_id: userId })],
    ['of a deleted application', {}, async () => deleteHere()],
  ])('have no consent %s', async (_, columns, change) => {
    await insert('consents', { application_id: here, user_id: userId, ...columns });
    await change?.();
    expect(await list()).toEqual([]);
  });

  test('are each there once, the last used first, with the last name', async () => {
    await insertGrant({ ...named, client_name: 'An older name', created_at: at(-5) });
    await insertGrant({ ...named, created_at: at(-4) });
    await insertGrant({ ...named, created_at: at(-DAY), rotated_at: at(-3) });
    await insertGrant({ ...named, client_id: 'https://b.test', created_at: at(-2) });
    const consent = { application_id: here, user_id: userId, created_at: at(-1) };
    await insert('consents', consent);
    await insert('consents', { ...consent, client_id: 'https://a.test' });
    await insert('consents', { ...consent, application_id: other, created_at: at(-4) });
    expect(await list()).toEqual([
      ['https://a.test', at(-1)],
      ['https://b.test', at(-2)],
      [CLIENT, at(-3)],
      [CLIENT, at(-4)],
    ]);
    expect((await listUserClients(call, userId)).map(({ clientName }) => clientName)).toEqual(Array(4).fill('Client'));
  });

  test('are 500 of either kind at most', async () => {
    await sql`insert into consents (user_id, application_id, client_id, client_name, scope_names, created_at)
      select ${userId}, ${here}, 'consent ' || n, '', '{}', ${NOW} from generate_series(1, 501) n`;
    await insertMany(501);
    expect(await list()).toHaveLength(1_000);
  });
});

/** Inserts grants of so many browsers and clients, each an instant later. */
const insertMany = (count: number) => sql`
  insert into oidc_grants (application_id, id, user_id, sid, scope, client_id, client_name, method, ip_address,
    user_agent, authenticated_at, rotation, created_at, expires_at)
  select ${here}, gen_random_uuid(), ${userId}, gen_random_uuid(), 1, 'client ' || lpad(n::text, 4, '0'), '', '', '', '',
    ${SIGNED_IN}::timestamptz + n * interval '1 ms', 0, ${SIGNED_IN}, ${at(DAY)} from generate_series(1, ${count}) n`;

describe('the clients of a resource', () => {
  const list = async () =>
    (await listResourceClients(call, here)).map(({ clientId, clientName, grants }) => [clientId, clientName, grants]);

  test.each<Dead>([
    ['that ends now', { expires_at: NOW }],
    ['before a cut-off', {}, () => insert('session_cutoffs', { application_id: here, user_id: userId })],
    ['of another resource', { application_id: randomUUID() }],
    ['of the application itself', { client_id: null }],
  ])('have no grant %s', async (_, columns, change) => {
    await insertGrant({ client_id: CLIENT, ...columns });
    await change?.();
    expect(await list()).toEqual([]);
  });

  test('come by the number of their grants, and then by their ID', async () => {
    for (const client_id of ['b', 'c', 'c', 'a']) await insertGrant({ client_id, client_name: client_id });
    await insertGrant({ client_id: 'c', client_name: 'a' });
    expect(await list()).toEqual([
      ['c', 'c', 3],
      ['a', 'a', 1],
      ['b', 'b', 1],
    ]);
  });

  test('are 100 at most', async () => {
    await insertMany(101);
    expect(await list()).toHaveLength(100);
  });
});

test('an export has the consents of the user, the oldest first', async () => {
  for (const [client_id, ms] of [
    ['b', -1],
    ['a', -2],
    ['c', -3],
  ] as const)
    await insert('consents', { application_id: here, user_id: userId, client_id, created_at: at(ms) });
  await insert('consents', { application_id: here, user_id: randomUUID() });
  const { consents } = await exportConsents(call, userId);
  expect(consents.map(({ clientId }) => clientId)).toEqual(['c', 'a', 'b']);
});

describe('where a user is signed in', () => {
  const list = async () =>
    (await listAccountSessions(call, userId)).map(({ applicationId, sid: browser, authenticatedAt }) => [
      applicationId,
      browser,
      authenticatedAt,
    ]);
  const session = () => ({ application_id: here, user_id: userId });

  test.each<Dead>([...DEAD, ['of a deleted application', {}, async () => deleteHere()]])(
    'is no grant %s',
    async (_, columns, change) => {
      await insertGrant(columns);
      await change?.();
      expect(await list()).toEqual([]);
    },
  );

  const refuse = async () => {
    await sql`update applications set restrict_access = true where id = ${here}`;
    await insert('session_cutoffs', { application_id: here, user_id: '00000000-0000-0000-0000-000000000001' });
  };
  test.each<Dead>([
    ['that ends now', { expires_at: NOW }],
    ['of a restricted application', {}, refuse],
    ['of a deleted application', {}, async () => deleteHere()],
  ])('is no session %s', async (_, columns, change) => {
    await insert('sessions', { ...session(), ...columns });
    await insert('sessions', { ...session(), user_id: await createUser() });
    await change?.();
    expect(await list()).toEqual([]);
  });

  test('is a session that can be renewed', async () => {
    await sql`update applications set session_idle_seconds = 3600 where id = ${here}`;
    await insert('sessions', { ...session(), expires_at: at(1 - HOUR), last_authenticated_at: at(-1) });
    expect(await list()).toEqual([[here, undefined, at(-1)]]);
    await sql`update sessions set expires_at = ${at(-HOUR)} where user_id = ${userId}`;
    expect(await list()).toEqual([]);
  });

  test('is each browser with its latest sign-in, and a session without a grant, the newest first', async () => {
    const [first, second] = [randomUUID(), randomUUID()].sort() as [string, string];
    for (const [browser, ms] of [
      [second, -9],
      [second, -4],
      [second, -8],
      [first, -4],
      [sid, -2],
    ] as const)
      await insertGrant({ sid: browser, authenticated_at: at(ms) });
    await insert('sessions', { ...session(), began_at: NOW });
    await insert('sessions', { ...session(), application_id: other, began_at: at(-3), authenticated_at: at(-7) });
    expect(await list()).toEqual([
      [here, sid, at(-2)],
      [other, undefined, at(-7)],
      [here, first, at(-4)],
      [here, second, at(-4)],
    ]);
  });

  test('is by application, where instants are the same', async () => {
    const ids = [here, other].sort();
    for (const id of ids.toReversed()) await insertGrant({ application_id: id, sid: randomUUID() });
    expect((await list()).map(([id]) => id)).toEqual(ids);
    await sql`delete from oidc_grants where user_id = ${userId}`;
    for (const id of ids.toReversed()) await insert('sessions', { ...session(), application_id: id });
    expect((await list()).map(([id]) => id)).toEqual(ids);
  });

  test('is in the 500 newest browsers', async () => {
    await insertMany(501);
    const found = await list();
    expect([found.length, found.at(-1)?.[2]]).toEqual([500, at(2 - HOUR)]);
  });

  test('is in the 500 applications with the newest sessions', async () => {
    await sql`
      with applications_here as (
        insert into applications (id, name, client_id, redirect_uris, created_at)
        select gen_random_uuid(), n::text, 'many ' || ${userId} || n, '{}', ${NOW} from generate_series(1, 501) n
        returning id, name::integer as n
      )
      insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
        authenticated_at, began_at, created_at, expires_at)
      select id, ${userId}, gen_random_uuid(), '', '', '', '', '', ${SIGNED_IN},
        ${SIGNED_IN}::timestamptz + n * interval '1 ms', ${NOW}, ${at(HOUR)} from applications_here`;
    const found = await listAccountSessions(call, userId);
    expect([found.length, found.at(-1)?.beganAt]).toEqual([500, at(2 - HOUR)]);
  });

  test.each<[string, of: () => { sid?: string; browserDigest: Buffer | null }, boolean]>([
    ['the grants of its browser', () => ({ sid, browserDigest: null }), true],
    ['the grants of another one', () => ({ sid: randomUUID(), browserDigest: digest }), false],
    ['the session of its browser', () => ({ browserDigest: digest }), true],
    ['the session of another one', () => ({ browserDigest: randomBytes(32) }), false],
    ['a session without one', () => ({ browserDigest: null }), false],
  ])('tells a browser: %s', (_, of, holds) => {
    const row = { applicationId: here, ...of() } as unknown as Parameters<typeof isOfBrowser>[0];
    expect(isOfBrowser(row, userId, digest)).toBe(holds);
  });
});

describe('a list of grants', () => {
  const gone = (column: string) => sql`update users set ${sql({ [column]: NOW })} where id = ${userId}`;
  const ofHere = async (filter: { userId?: string } = {}) =>
    (await listGrants(callOf(here), tokens, { ...filter })).rows.map(({ grantId }) => grantId);
  const ofUser = async () => (await listUserGrants(call, tokens, { userId })).rows.map(({ grantId }) => grantId);

  test('has those of the application, of its user, and of the user everywhere', async () => {
    const [own, somebody] = [await insertGrant(), await createUser()];
    const theirs = await insertGrant({ user_id: somebody, created_at: at(-1) });
    const elsewhere = await insertGrant({ application_id: other, created_at: at(-1) });
    expect([await ofHere(), await ofHere({ userId }), await ofUser()]).toEqual([
      [theirs, own],
      [own],
      [elsewhere, own],
    ]);
  });

  test.each<[string, Columns, (() => Promise<unknown>) | undefined, of: 'application' | 'user' | 'both']>([
    ['that ends now', { expires_at: NOW }, undefined, 'both'],
    ['at a cut-off', {}, () => insert('session_cutoffs', { application_id: here, user_id: userId }), 'both'],
    ['of a user who is deactivated', {}, async () => gone('deactivated_at'), 'application'],
    ['of a user who is deleted', {}, async () => gone('deleted_at'), 'application'],
    ['of a deleted application', {}, async () => deleteHere(), 'user'],
  ])('has none %s', async (_, columns, change, of) => {
    await insertGrant(columns);
    await change?.();
    if (of !== 'user') expect([...(await ofHere()), ...(await ofHere({ userId }))]).toEqual([]);
    if (of !== 'application') expect(await ofUser()).toEqual([]);
  });
});
