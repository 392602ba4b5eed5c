/** What an erasure takes from the rows about a user, a row for each condition. What people see: test/contract/users.test.ts. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { findUserOf, removeBodiesOfErased, removeIfErased } from '../../../../src/domain/users/personal-data.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createUser, createApplication } = await openDomain();
const call = callAt();

let here: string;
let other: string;
let userId: string;
let stranger: string;
beforeEach(async () => {
  [here, other] = [await createApplication(), await createApplication()];
  [userId, stranger] = [await createUser(), await createUser()];
});

type Columns = Readonly<Record<string, unknown>>;
const own = (columns: Columns = {}) => ({ application_id: here, user_id: userId, ...columns });
const setUser = (columns: Columns, id = userId) => sql`update users set ${sql(columns as never)} where id = ${id}`;
const ERASED = { deleted_at: NOW, email: '', wallet_address: '' };
async function erase() {
  await setUser(ERASED);
  expect(await removeIfErased(call, userId)).toBe(true);
}

test.each<[string, Columns]>([
  ['who is not deleted', { ...ERASED, deleted_at: null }],
  ['who has an address', { ...ERASED, email: 'kept@example.com' }],
  ['who has a wallet', { ...ERASED, wallet_address: '0xAB' }],
])('nothing is taken from a user %s', async (_, columns) => {
  await setUser(ERASED, stranger);
  await insert('application_users', own());
  await setUser(columns);
  expect(await removeIfErased(call, userId)).toBe(false);
  expect(await sql`select from application_users where user_id = ${userId}`).toHaveLength(1);
});

describe('of the audit log', () => {
  const ATTEMPT = { action: 'SignIn/email_code', note: null };
  test.each<[string, event: () => Columns, after: { ip_address: string; note: string | null } | undefined]>([
    ['an event about the user loses address and note', () => ({}), { ip_address: '', note: null }],
    ['one about somebody else keeps them', () => ({ resource: stranger }), { ip_address: '::1', note: 'Note' }],
    [
      'the erasure keeps the address of its caller',
      () => ({ action: 'AdminService/EraseUser' }),
      { ip_address: '::1', note: 'Note' },
    ],
    ['one without an address is not written again', () => ({ ip_address: '' }), { ip_address: '', note: 'Note' }],
    ['a sign-in that failed goes', () => ATTEMPT, undefined],
    ['that of somebody else stays', () => ({ ...ATTEMPT, resource: stranger }), { ip_address: '::1', note: null }],
  ])('%s', async (_, event, after) => {
    const id = randomUUID();
    const known = { application_id: here, occurred_at: NOW, id, actor_type: 'admin_key', actor: 'key', request_id: '' };
    const about = { action: 'AdminService/UpdateUser', resource: userId, ip_address: '::1', note: 'Note', ...event() };
    await sql`insert into audit_events ${sql({ ...known, ...about } as never)}`;
    await erase();
    expect(await sql`select ip_address, note from audit_events where id = ${id}`).toEqual(after ? [after] : []);
  });
});

test.each<[string, Columns]>([
  ['the address', { ip_address: '::1', user_agent: 'Browser' }],
  ['the page where it began', { started_from: 'https://app.test/begin' }],
])('a login loses %s', async (_, columns) => {
  for (const user_id of [userId, stranger]) await insert('login_intents', own({ user_id, ...columns }));
  await erase();
  const read = (user_id: string) =>
    sql`select ${sql(Object.keys(columns))} from login_intents where user_id = ${user_id}`;
  expect(await read(userId)).toEqual([Object.fromEntries(Object.keys(columns).map((name) => [name, null]))]);
  expect(await read(stranger)).toEqual([columns]);
});

test('a login that has neither is not written again', async () => {
  await insert('login_intents', own());
  const read = () => sql`select xmin::text from login_intents where user_id = ${userId}`;
  const before = await read();
  await erase();
  expect(await read()).toEqual(before);
});

test.each<[string, before: Columns | undefined, after: { cutoff_at: Date; expires_at: Date }]>([
  ['where there was none', undefined, { cutoff_at: at(-HOUR), expires_at: at(DAY) }],
  [
    'in place of an earlier one',
    { cutoff_at: at(-DAY), expires_at: at(-2 * DAY), changed_at: at(-DAY) },
    { cutoff_at: at(-HOUR), expires_at: at(DAY) },
  ],
  [
    'unless there is a later one',
    { cutoff_at: NOW, expires_at: at(2 * DAY), changed_at: at(3 * DAY) },
    { cutoff_at: NOW, expires_at: at(2 * DAY) },
  ],
])('the cut-off of the user stays in each application, %s', async (_, before, after) => {
  await insert('application_users', own());
  await insert('application_users', own({ application_id: other, user_id: stranger }));
  for (const user_id of [userId, stranger]) await insert('user_cutoffs', { user_id });
  if (before) await insert('session_cutoffs', own(before));
  await erase();
  const left = await sql`select * from session_cutoffs where application_id in (${here}, ${other})`;
  expect(left).toEqual([{ ...own(), ...after, changed_at: expect.any(Date) }]);
  // Readers of revocations ask from an instant on.
  const latest = Math.max(at(-HOUR).getTime(), (before?.changed_at as Date | undefined)?.getTime() ?? 0);
  expect(left[0]?.changed_at.getTime()).toBeGreaterThanOrEqual(latest);
});

describe('the answers of webhooks', () => {
  const insertAttempt = async (columns: Columns = {}) => {
    const attempt = { webhook_id: 'webhook', message_id: 1, attempted_at: NOW, duration_ms: 1, response_body: 'echo' };
    const [row] = await sql`
      insert into webhook_attempts ${sql({ ...attempt, ...own(columns) } as never)} returning id, xmin::text`;
    return row as { id: string; xmin: string };
  };
  const read = async ({ id }: { readonly id: string }) =>
    (await sql`select response_body, xmin::text from webhook_attempts where id = ${id}`)[0];
  const bodyOf = async (row: { readonly id: string }) => (await read(row))?.response_body;

  test('lose what they say of the user, and of nobody else', async () => {
    const [about, empty, theirs] = [
      await insertAttempt(),
      await insertAttempt({ response_body: null }),
      await insertAttempt({ user_id: stranger }),
    ];
    await erase();
    expect([await bodyOf(about), await bodyOf(theirs)]).toEqual([null, 'echo']);
    expect((await read(empty))?.xmin).toBe(empty.xmin);
  });

  test('that are just being stored lose it as well', async () => {
    const unasked = await createUser(ERASED);
    const rows = [
      await insertAttempt(),
      await insertAttempt({ user_id: stranger }),
      await insertAttempt({ user_id: unasked }),
      await insertAttempt({ application_id: other }),
    ];
    await setUser(ERASED);
    await call.run(removeBodiesOfErased, { applicationId: here, userIds: [userId, stranger] });
    expect(await Promise.all(rows.map(bodyOf))).toEqual([null, 'echo', 'echo', 'echo']);
  });

  test.each<[string | null, payload: object | null, userId: string | null]>([
    ['session.created', { data: { userId: 'ada', id: 'session' } }, 'ada'],
    ['user.updated', { data: { id: 'ada' } }, 'ada'],
    ['user.updated', { data: {} }, null],
    ['user.deleted', {}, null],
    ['user.updated', null, null],
    ['webhook.test', { data: { id: 'webhook' } }, null],
    ['a user.updated', { data: { id: 'ada' } }, null],
    [null, { data: { id: 'ada' } }, null],
  ])('are about a user if the message is: %s of %j', (type, payload, about) => {
    expect(findUserOf({ type, payload: payload && JSON.stringify(payload) })).toBe(about);
  });
});
