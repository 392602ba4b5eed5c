/** Conditions of the statements about identities, a row each. What people see: test/modules/providers. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { deleteUserIdentity } from '../../../../src/domain/identities/delete-identity.ts';
import {
  findProvedIdentity,
  findProvedIdentityById,
  keepProvedIdentity,
  linkIdentity,
} from '../../../../src/domain/identities/link-identity.ts';
import { listUserIdentities } from '../../../../src/domain/identities/list-identities.ts';
import { BY_CODE, VOUCHED_FOR } from '../../../../src/domain/users/counts-from.ts';
import { at, DAY, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createUser } = await openDomain();
let woken = 0;
const call = { ...callAt(), notices: { toLanguage: () => 'en', wake: () => void woken++ } };
const ACCOUNT = { issuer: 'https://issuer.test', subject: 'ada', provider: 'test' };

type Columns = Readonly<Record<string, unknown>>;

const reason = (done: Promise<unknown>) =>
  done.then(
    (value) => value ?? 'done',
    (error) => error.reason,
  );
const identity = (columns: Columns) => insert('user_identities', { ...ACCOUNT, ...columns });
const readOwners = () => sql`select user_id from user_identities where subject = 'ada' order by issuer`;
const readNotices = (userId: string) => sql`select kind, recipient from notices where user_id = ${userId}`;

let userId: string;
let email: string;
let other: string;
beforeEach(async () => {
  await sql`delete from user_identities`;
  email = `${randomUUID()}@example.com`;
  [userId, other] = [await createUser({ email }), await createUser()];
  woken = 0;
});
const set = (columns: Columns) => sql`update users set ${sql(columns as never)} where id = ${userId}`;

describe('an identity is linked', () => {
  const cutOff = { ...call, cutoffCount: 0 };
  test.each<[string, prepare: () => PromiseLike<unknown>, answer: unknown]>([
    ['to its user', async () => undefined, true],
    ['to one who has it already', () => identity({ user_id: userId }), true],
    [
      'to one who has it already, beside another user of the issuer',
      () => identity({ user_id: other, subject: 'aaa' }).then(() => identity({ user_id: userId })),
      true,
    ],
    [
      'to one who has it already, beside the same subject of another issuer',
      () => identity({ user_id: other, issuer: 'https://a.test' }).then(() => identity({ user_id: userId })),
      true,
    ],
    ['to none but the one who has it', () => identity({ user_id: other }), 'IDENTITY_ALREADY_LINKED'],
    ['beside that of another issuer', () => identity({ user_id: other, issuer: 'https://a.test' }), true],
    ['beside another one of the issuer', () => identity({ user_id: other, subject: 'grace' }), true],
    ['to no deleted user', () => set({ deleted_at: NOW }), false],
    ['to no deactivated user', () => set({ deactivated_at: NOW }), false],
    ['to no user with another address by now', () => set({ email: 'new@example.com' }), false],
    [
      'to nobody who has the address by now',
      () => set({ email: 'old@example.com' }).then(() => sql`update users set email = ${email} where id = ${other}`),
      false,
    ],
    ['to nobody who was signed out', () => set({ cutoff_count: 1 }), false],
  ])('%s', async (_, prepare, answer) => {
    await prepare();
    const before = await readOwners();
    expect(await reason(linkIdentity(cutOff, ACCOUNT, { userId, email }, BY_CODE))).toBe(answer);
    const isNew = answer === true && !before.some((row) => row.user_id === userId);
    expect(await readOwners()).toEqual(isNew ? [...before, { user_id: userId }] : before);
    expect(await readNotices(userId)).toEqual(isNew ? [{ kind: 'identityLinked', recipient: email }] : []);
    expect(woken).toBe(isNew ? 1 : 0);
  });

  test.each<[string, user: Columns, by: Parameters<typeof linkIdentity>[3], isYoung: boolean]>([
    ['at once to a user of one factor', {}, BY_CODE, false],
    ['for later by a weaker sign-in than usual', { has_second_factor: true }, BY_CODE, true],
    ['at once by two factors', { has_second_factor: true }, { ...BY_CODE, assurance: 2 }, false],
    ['at once by an operator', { has_second_factor: true }, VOUCHED_FOR, false],
    ['at once if it has one factor for ever', { has_second_factor: true }, { ...BY_CODE, level: 1 }, false],
    ['for later where a passkey was removed', { passkey_removed_at: at(-7 * DAY + 1) }, BY_CODE, true],
    ['at once 7 days after that', { passkey_removed_at: at(-7 * DAY) }, BY_CODE, false],
  ])('%s', async (_, user, by, isYoung) => {
    await set({ cutoff_count: 0, ...user });
    expect(await linkIdentity(call, ACCOUNT, { userId, email }, by)).toBe(true);
    const rows = await listUserIdentities(call, { userId });
    expect(rows).toEqual([{ ...ACCOUNT, createdAt: NOW, countsFrom: isYoung ? at(7 * DAY) : null }]);
  });

  test('and removed again if the user is deleted meanwhile, from nobody else', async () => {
    const gone = await createUser({ deleted_at: NOW });
    await identity({ user_id: other, subject: 'grace' });
    await identity({ user_id: gone, subject: 'lin' });
    const meanwhile = { ...callAt(NOW, () => set({ deleted_at: NOW })) };
    await linkIdentity(meanwhile, ACCOUNT, { userId, email }, BY_CODE);
    expect(await sql`select user_id from user_identities order by subject`).toEqual([
      { user_id: other },
      { user_id: gone },
    ]);
  });
});

describe('an identity is removed', () => {
  const remove = (by = call) => reason(deleteUserIdentity(by, { userId, issuer: ACCOUNT.issuer, subject: 'ada' }));
  const held = (columns: Columns) => {
    const row = { user_id: userId, method: 'test', application_id: randomUUID(), ...columns };
    return insert('held_sign_ins', row);
  };

  test.each<[string, prepare: () => PromiseLike<unknown>, answer: string, isRemoved: boolean]>([
    ['from its user', () => identity({ user_id: userId }), 'done', true],
    ['from nobody else', () => identity({ user_id: other }), 'done', false],
    ['alone among those of the subject', () => identity({ user_id: userId, issuer: 'https://a.test' }), 'done', false],
    ['alone among those of the issuer', () => identity({ user_id: userId, subject: 'lin' }), 'done', false],
    ['from no deleted user', () => set({ deleted_at: NOW }), 'USER_NOT_FOUND', false],
    [
      'by nobody who was signed out',
      () => identity({ user_id: userId }).then(() => set({ cutoff_count: 1 })),
      'done',
      false,
    ],
  ])('%s', async (_, prepare, answer, isRemoved) => {
    await prepare();
    const before = await sql`select * from user_identities`;
    expect(await remove({ ...call, cutoffCount: 0 } as typeof call)).toBe(answer);
    expect(await sql`select * from user_identities`).toEqual(isRemoved ? [] : before);
    expect(await readNotices(userId)).toEqual(isRemoved ? [{ kind: 'identityRemoved', recipient: email }] : []);
    expect(woken).toBe(isRemoved ? 1 : 0);
    expect(await sql`select from audit_events where resource = ${userId}`).toHaveLength(isRemoved ? 1 : 0);
  });

  test.each<[string, request: Columns, answer: string]>([
    ['an issuer of 2,048 characters', { issuer: 'x'.repeat(2_048) }, 'done'],
    ['a longer issuer', { issuer: 'x'.repeat(2_049) }, 'VALIDATION_FAILED'],
    ['a subject of 255 characters', { subject: 'x'.repeat(255) }, 'done'],
    ['a longer subject', { subject: 'x'.repeat(256) }, 'VALIDATION_FAILED'],
  ])('by a request with %s', async (_, request, answer) => {
    expect(await reason(deleteUserIdentity(call, { userId, ...ACCOUNT, ...request }))).toBe(answer);
  });

  test('with the held sign-ins of the user at its provider alone', async () => {
    await identity({ user_id: userId });
    await held({});
    const kept = [await held({ method: 'another' }), await held({ user_id: other })];
    await remove();
    const rows =
      await sql`select user_id, method from held_sign_ins where user_id in (${userId}, ${other}) order by method`;
    expect(rows).toEqual(kept.map(({ user_id, method }) => ({ user_id, method })));
  });
});

describe('an identity that was proved is found', () => {
  const where = { applicationId: randomUUID(), loginIntentId: randomUUID(), browserDigest: randomBytes(32) };
  const id = randomUUID();
  const prove = (columns: Columns = {}) =>
    insert('proved_identities', {
      ...{ application_id: where.applicationId, login_intent_id: where.loginIntentId },
      ...{ browser_digest: where.browserDigest, id, subject: 'ada', ...columns },
    });
  const find = async () => [
    (await findProvedIdentity(call, { ...where, provider: 'test' }))?.subject,
    (await findProvedIdentityById(call, { ...where, id }))?.subject,
  ];
  beforeEach(() => sql`delete from proved_identities`);

  test.each<[string, columns: Columns, isFound: boolean]>([
    ['in its browser', {}, true],
    ['until it expires', { expires_at: at(1) }, true],
    ['no longer', { expires_at: NOW }, false],
    ['in no other browser', { browser_digest: randomBytes(32) }, false],
    ['at no other login', { login_intent_id: randomUUID() }, false],
    ['at no other application', { application_id: randomUUID() }, false],
  ])('%s', async (_, columns, isFound) => {
    await prove(columns);
    expect(await find()).toEqual(isFound ? ['ada', 'ada'] : [undefined, undefined]);
  });

  test('by its provider, the latest one, or by its ID', async () => {
    await keepProvedIdentity({ ...call, now: at(-DAY) }, { ...where, ...ACCOUNT, id, email: '', expiresAt: at(1) });
    await prove({ id: randomUUID(), subject: 'grace', created_at: at(-1) });
    await prove({ id: randomUUID(), subject: 'joan', created_at: at(-2) });
    await prove({ id: randomUUID(), subject: 'lin', created_at: NOW, provider: 'another' });
    expect(await find()).toEqual(['grace', 'ada']);
  });
});

test('the list has the identities of a user, the oldest first, and by issuer and subject', async () => {
  for (const subject of ['b', 'a']) {
    await identity({ user_id: userId, subject });
    await identity({ user_id: userId, subject, issuer: 'https://a.test' });
  }
  await identity({ user_id: userId, subject: 'c', issuer: 'https://z.test', created_at: at(-2 * DAY) });
  await identity({ user_id: other, subject: 'd' });
  const rows = await listUserIdentities(call, { userId });
  expect(rows.map(({ issuer, subject }) => `${issuer.slice(8, 9)} ${subject}`)).toEqual([
    'z c',
    'a a',
    'a b',
    'i a',
    'i b',
  ]);
  expect(await listUserIdentities(call, { userId: await createUser() })).toEqual([]);
  expect(await reason(listUserIdentities(call, { userId: randomUUID() }))).toBe('USER_NOT_FOUND');
});
