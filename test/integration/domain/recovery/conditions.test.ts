/** Each condition of recovery links, a row each. What people see: test/contract/recovery-links.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../../../src/domain/core/call.ts';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { createRecoveryLink } from '../../../../src/domain/recovery/create-recovery-link.ts';
import { digestAddress, isAddressOf } from '../../../../src/domain/recovery/link-secrets.ts';
import { listRecoveryLinks } from '../../../../src/domain/recovery/list-recovery-links.ts';
import { revokeRecoveryLink } from '../../../../src/domain/recovery/revoke-recovery-link.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, watch, createUser, createApplication } = await openDomain();
const codeKeys = deriveLoginCodeKeys([randomBytes(32)]);
const MINUTE = 60_000;

let userId: string;
let stranger: string;
beforeEach(async () => {
  [userId, stranger] = [await createUser(), await createUser()];
});

type Columns = Readonly<Record<string, unknown>>;

async function insertLink(columns: Columns = {}): Promise<string> {
  const row = {
    ...{ id: randomUUID(), user_id: userId, digest: randomBytes(32), code_hmac: randomBytes(32) },
    ...{ address_key: randomBytes(32), removes: [], created_by: 'operator', created_at: at(-HOUR) },
    ...{ usable_at: at(-HOUR), expires_at: at(HOUR), ...columns },
  };
  await sql`insert into recovery_links ${sql(row as never)}`;
  return row.id;
}

const readLink = async (id: string) => (await sql`select status, ended_at from recovery_links where id = ${id}`)[0];
const setUser = (columns: object) => sql`update users set ${sql(columns as never)} where id = ${userId}`;

/** Makes a link. Returns it, or the reason of the refusal. */
const make = (fields: object = {}, call: Partial<Call> = {}) =>
  createRecoveryLink(
    { ...callAt(), actor: randomUUID(), ...call },
    { codeKeys, isOperator: (email) => email === 'operator@example.com', recoverUrl: 'https://usher.test/recover' },
    { userId, reason: 'lost', ...fields },
  );
const reason = (made: Promise<unknown>) =>
  made.then(
    () => 'made',
    (error) => error.reason,
  );

describe('a link that removes nothing', () => {
  test.each<[string, prepare: () => Promise<unknown>, answer: string]>([
    ['who is new', async () => undefined, 'made'],
    ['who has proved the address', async () => setUser({ email_verified_at: NOW }), 'USER_HAS_SIGNED_IN'],
    ['with a passkey', () => insert('passkeys', { user_id: userId }), 'USER_HAS_SIGNED_IN'],
    ['who has used a link', () => insertLink({ status: 'USED' }), 'USER_HAS_SIGNED_IN'],
    ['who has not used one', () => insertLink({ status: 'REVOKED' }), 'made'],
    [
      'with an application',
      async () => insert('application_users', { application_id: await createApplication(), user_id: userId }),
      'USER_HAS_SIGNED_IN',
    ],
    [
      'of a known browser',
      async () => sql`insert into known_origins values (${randomBytes(32)}, ${userId}, ${at(DAY)})`,
      'USER_HAS_SIGNED_IN',
    ],
    [
      'beside somebody who has all of them',
      async () => {
        await insert('passkeys', { user_id: stranger });
        await insertLink({ user_id: stranger, status: 'USED' });
        await insert('application_users', { application_id: await createApplication(), user_id: stranger });
        await sql`insert into known_origins values (${randomBytes(32)}, ${stranger}, ${at(DAY)})`;
      },
      'made',
    ],
    ['who is deactivated', async () => setUser({ deactivated_at: NOW }), 'USER_NOT_ACTIVE'],
    ['who is deleted', async () => setUser({ deleted_at: NOW }), 'USER_NOT_FOUND'],
    ['who is an operator', async () => setUser({ email: 'operator@example.com' }), 'USER_IS_OPERATOR'],
  ])('of a user %s', async (_, prepare, answer) => {
    await prepare();
    expect(await reason(make())).toBe(answer);
    // A link that removes something is for those who have signed in, too.
    if (/SIGNED_IN/.test(answer)) expect(await reason(make({ removes: ['PASSKEYS'] }))).toBe('made');
  });
});

test.each<[string, Columns, wasStopped: boolean]>([
  ['was stopped', { ended_at: at(1 - 30 * DAY) }, true],
  ['was stopped 30 days before', { ended_at: at(-30 * DAY) }, false],
  ['of somebody else was', { ended_at: NOW, user_id: 'stranger' }, false],
  ['was revoked', { ended_at: NOW, status: 'REVOKED' }, false],
])('says that a link %s', async (_, columns, wasStopped) => {
  const of = columns.user_id ? { user_id: stranger } : {};
  await insertLink({ status: 'STOPPED', ...columns, ...of });
  expect((await make()).stoppedBefore).toBe(wasStopped);
});

test.each<[string, Columns, after: Columns]>([
  ['is replaced', {}, { status: 'REPLACED', ended_at: NOW }],
  ['expires now', { expires_at: NOW }, { status: 'EXPIRED', ended_at: NOW }],
  ['has expired', { expires_at: at(-1) }, { status: 'EXPIRED', ended_at: at(-1) }],
  ['expires next', { expires_at: at(1) }, { status: 'REPLACED', ended_at: NOW }],
  ['was used', { status: 'STOPPED', ended_at: at(-DAY) }, { status: 'STOPPED', ended_at: at(-DAY) }],
])('an earlier link %s', async (_, columns, after) => {
  const [id, theirs] = [await insertLink(columns), await insertLink({ user_id: stranger })];
  await make();
  expect([await readLink(id), await readLink(theirs)]).toEqual([after, { status: 'OPEN', ended_at: null }]);
});

test('a link takes the place of another in one statement', async () => {
  await insertLink();
  const call = watch();
  await make({}, call);
  expect(call.names.filter((name) => name === 'insertRecoveryLink')).toHaveLength(1);
});

test.each<[string, fields: object, usable: number, expires: number]>([
  ['at once, for an hour', {}, 0, 60],
  ['after a day, if the address goes', { removes: ['ADDRESS', 'ADDRESS'] }, 24 * 60, 25 * 60],
  ['after what the operator says', { delayHours: 0, removes: ['ADDRESS'], expiresInMinutes: 5 }, 0, 5],
  ['after 72 hours at most, for a day', { delayHours: 72, expiresInMinutes: 1_440 }, 72 * 60, 96 * 60],
])('a link is usable %s', async (_, fields, usable, expires) => {
  const notices = { toLanguage: () => 'en', wake: () => {} };
  const { recoveryLink, spokenCode, url } = await make(fields, { notices });
  const { usableAt, expiresAt, removes, status, endedAt } = recoveryLink;
  expect([usableAt, expiresAt, removes.length, status, endedAt]).toEqual([
    at(usable * MINUTE),
    at(expires * MINUTE),
    'removes' in fields ? 1 : 0,
    'OPEN',
    null,
  ]);
  expect([spokenCode, url]).toEqual([expect.stringMatching(/^\d{4} \d{4}$/), expect.stringMatching(/recover#.{43}$/)]);
  expect(await sql`select kind from notices where user_id = ${userId}`).toEqual([{ kind: 'recoveryStarted' }]);
});

test.each([
  ['expiresInMinutes', 4],
  ['expiresInMinutes', 1_441],
  ['delayHours', -1],
  ['delayHours', 73],
  ['reason', ''],
  ['reason', 'x'.repeat(501)],
  ['removes', Array(6).fill('WALLET')],
])('%s may not be %s', async (field, value) => {
  expect(await reason(make({ [field]: value }))).toBe('VALIDATION_FAILED');
});

test('the address goes only where there are e-mails, and an operator makes 20 links a day', async () => {
  expect(await reason(make({ removes: ['ADDRESS'] }))).toBe('MAIL_NOT_CONFIGURED');
  const actor = randomUUID();
  for (let count = 0; count < 20; count++) expect(await reason(make({}, { actor }))).toBe('made');
  expect(await reason(make({}, { actor }))).toBe('TOO_MANY_RECOVERY_LINKS');
});

test('a link is made for the address that the user has by then, and counts once', async () => {
  let changes = 0;
  const { run, ...call } = callAt();
  const meanwhile: typeof run = async (statement, parameters) => {
    const rows = await run(statement, parameters);
    if (statement.name === 'selectUserToRecover' && changes++ < 2)
      await setUser({ email: `${randomUUID()}@example.com` });
    return rows;
  };
  let woken = 0;
  const notices = { toLanguage: () => 'en', wake: () => void woken++ };
  const actor = randomUUID();
  expect(await reason(make({}, { ...call, run: meanwhile, notices, actor }))).toBe('made');
  expect([changes, woken]).toEqual([3, 1]);
  for (let count = 1; count < 20; count++) expect(await reason(make({}, { actor }))).toBe('made');
  expect(await reason(make({}, { actor }))).toBe('TOO_MANY_RECOVERY_LINKS');
  const deactivate: typeof run = async (statement, parameters) => {
    if (statement.name === 'insertRecoveryLink') await setUser({ deactivated_at: NOW });
    return run(statement, parameters);
  };
  expect(await reason(make({}, { ...call, run: deactivate }))).toBe('USER_NOT_ACTIVE');
  await setUser({ deactivated_at: null });
  changes = -1;
  expect(await reason(make({}, { ...call, run: meanwhile }))).toBe('SERVICE_UNAVAILABLE');
  expect(changes).toBe(2);
});

test('a link is not made for somebody who has got the address meanwhile', async () => {
  const email = `${randomUUID()}@example.com`;
  await setUser({ email });
  const { run, ...call } = callAt();
  let isTaken = false;
  const meanwhile: typeof run = async (...given) => {
    const rows = await run(...given);
    if (!isTaken) await setUser({ email: `${randomUUID()}@example.com` });
    if (!isTaken) await sql`update users set email = ${email} where id = ${stranger}`;
    isTaken = true;
    return rows;
  };
  expect((await make({}, { ...call, run: meanwhile })).recoveryLink.userId).toBe(userId);
  expect(await sql`select from recovery_links where user_id = ${stranger}`).toEqual([]);
});

test.each<[string, Columns, shown: Columns]>([
  ['open', { expires_at: at(1) }, { status: 'OPEN', endedAt: null }],
  ['expired at its end', { expires_at: NOW }, { status: 'EXPIRED', endedAt: NOW }],
  [
    'revoked, also after its end',
    { status: 'REVOKED', ended_at: at(-2), expires_at: at(-1) },
    { status: 'REVOKED', endedAt: at(-2) },
  ],
])('a list shows a link as %s', async (_, columns, shown) => {
  const id = await insertLink(columns);
  await insertLink({ user_id: stranger });
  const { rows } = await listRecoveryLinks(callAt(), new PageTokens([randomBytes(32)]), { userId });
  expect(rows).toMatchObject([{ recoveryLinkId: id, ...shown }]);
});

test('a link is for its address, by any key that is left', () => {
  const [id, other] = [randomUUID(), deriveLoginCodeKeys([randomBytes(32)])];
  const digest = digestAddress(codeKeys[0], id, 'ada@example.com');
  const is = (keys: typeof codeKeys, email = 'ada@example.com') => isAddressOf(keys, id, email, digest);
  expect([is(codeKeys), is([...other, ...codeKeys]), is(other), is(codeKeys, 'b@example.com')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test.each<[string, Columns, after: Columns]>([
  ['is revoked', {}, { status: 'REVOKED', ended_at: NOW }],
  ['expires now', { expires_at: NOW }, { status: 'OPEN', ended_at: null }],
  ['has ended', { status: 'USED', ended_at: at(-1) }, { status: 'USED', ended_at: at(-1) }],
])('a link that %s', async (_, columns, after) => {
  const [id, theirs] = [await insertLink(columns), await insertLink({ user_id: stranger })];
  await revokeRecoveryLink(callAt(), { recoveryLinkId: id });
  expect([await readLink(id), await readLink(theirs)]).toEqual([after, { status: 'OPEN', ended_at: null }]);
  expect(await reason(revokeRecoveryLink(callAt(), { recoveryLinkId: randomUUID() }))).toBe('RECOVERY_LINK_NOT_FOUND');
});
