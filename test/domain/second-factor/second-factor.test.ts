/** What counts as a try of the second factor, and what its removal takes along. */
import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../src/domain/audit/audit-event.ts';
import type { Call } from '../../../src/domain/core/call.ts';
import { RowCipher } from '../../../src/domain/crypto/aes-gcm.ts';
import { type EnteredFactor, useSecondFactor } from '../../../src/domain/second-factor/check-second-factor.ts';
import { getSecondFactor } from '../../../src/domain/second-factor/find-second-factor.ts';
import { createRecoveryCodes, digestRecoveryCode } from '../../../src/domain/second-factor/recovery-codes.ts';
import { removeSecondFactor, resetSecondFactor } from '../../../src/domain/second-factor/remove-second-factor.ts';
import { computeTotp } from '../../../src/domain/second-factor/totp.ts';
import { encodeBase32 } from '../../../src/encoding/base32.ts';
import { cloneDatabase, LAYOUT } from '../../support/database.ts';

const testDatabase = await cloneDatabase();
const { sql } = testDatabase;
const database = new Database(testDatabase.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await testDatabase[Symbol.asyncDispose]();
});
const cipher = new RowCipher([randomBytes(32)]);
const parts = { cipher, codes: { keys: [createSecretKey(randomBytes(32))] as const } };
const MINUTES = 60_000;

/** Returns a call that stores notices, so many minutes from now. */
function callAt(minutes = 0, { mails = true, ...more }: Partial<Call> & { readonly mails?: boolean } = {}) {
  const now = new Date(Date.now() + minutes * MINUTES);
  const audit = { ...BY_USHER, action: 'Test', now } as const;
  const woken = { count: 0 };
  const notices = { toLanguage: () => 'en', wake: () => void woken.count++ };
  const call: Call = { run: withAudit(database.eachWithin(60_000), audit), now, ...(mails && { notices }), ...more };
  return { call, woken };
}

/** Returns a user with an app and two recovery codes. */
async function createPerson() {
  const [userId, id, secret] = [randomUUID(), randomUUID(), randomBytes(20)];
  const sealed = cipher.encrypt(encodeBase32(secret), { applicationId: userId, id });
  const codes = createRecoveryCodes().slice(0, 2);
  await sql`insert into users (id, email, wallet_address, created_at, has_second_factor)
    values (${userId}, ${`${userId}@example.com`}, '', now(), true)`;
  await sql`insert into totp_secrets (user_id, id, sealed, last_step, created_at) values (${userId}, ${id}, ${sealed}, 0, now())`;
  for (const code of codes)
    await sql`insert into recovery_codes (user_id, digest, created_at)
      values (${userId}, ${digestRecoveryCode(userId, code) ?? null}, now())`;
  const right = () => computeTotp(secret, Math.floor(Date.now() / 30_000));
  return { userId, id, secret, codes, right, wrong: () => computeTotp(secret, Math.floor(Date.now() / 30_000) + 9) };
}

type Person = Awaited<ReturnType<typeof createPerson>>;

/** Returns how a try ends, with what it would use. */
async function enter({ userId }: Person, entered: EnteredFactor, { at = 0, isRight = true, mails = true } = {}) {
  const { call, woken } = callAt(at, { mails });
  const used: unknown[] = [];
  const use = async (parameters: unknown) => {
    used.push(parameters);
    return { isRight };
  };
  const outcome = await useSecondFactor(call, parts, userId, entered, use).then(
    () => 'right',
    (error: { reason: string }) => error.reason,
  );
  return { outcome, used, woken: woken.count };
}

const ofApp = (code: string): EnteredFactor => ({ kind: 'app', code });
const recovery = (code: string): EnteredFactor => ({ kind: 'recovery', code });
const noticesOf = async ({ userId }: Person) =>
  (await sql`select kind from notices where user_id = ${userId}`).map(({ kind }) => kind);

describe('recovery codes', () => {
  it('are ten of 16 digits and letters that look like no others, each another one', () => {
    const codes = createRecoveryCodes();
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/);
    const digits = new Set(Array.from({ length: 100 }, createRecoveryCodes).flat().join('').replaceAll('-', ''));
    expect([...digits].sort().join('')).toBe('0123456789abcdefghjkmnpqrstvwxyz');
  });

  const [userId, code] = ['00000000-0000-4000-8000-00000000000a', '01ab-cdef-ghjk-mnpq'];
  it.each([
    ['capitals', '01AB-CDEF-GHJK-MNPQ', true],
    ['spaces in place of dashes', ' 01ab cdef ghjk mnpq ', true],
    ['no dashes', '01abcdefghjkmnpq', true],
    ['o in place of 0', 'o1ab-cdef-ghjk-mnpq', true],
    ['O in place of 0', 'O1ab-cdef-ghjk-mnpq', true],
    ['l in place of 1', '0lab-cdef-ghjk-mnpq', true],
    ['I in place of 1', '0Iab-cdef-ghjk-mnpq', true],
    ['full-width digits', '０１ab-cdef-ghjk-mnpq', true],
    ['a digit less', '01ab-cdef-ghjk-mnp', undefined],
    ['a digit more', '01ab-cdef-ghjk-mnpqr', undefined],
    ['a letter that no code has', '01ab-cdef-ghjk-mnpu', undefined],
    ['nothing', '', undefined],
    ['another one', '01ab-cdef-ghjk-mnpr', false],
  ])('with %s', (_, given, isSame) => {
    const digest = digestRecoveryCode(userId, given);
    expect(digest?.equals(digestRecoveryCode(userId, code) ?? Buffer.alloc(0))).toBe(isSame);
  });

  it('have another digest for another user', () => {
    expect(digestRecoveryCode(userId, code)).not.toEqual(digestRecoveryCode(randomUUID(), code));
  });
});

describe('a try', () => {
  it.each<[string, EnteredFactor]>([
    ['of seven digits', ofApp('1234567')],
    ['of eight digits', ofApp('12345678')],
    ['of letters', ofApp('abcdef')],
    ['of nothing', ofApp('')],
    ['of a short recovery code', recovery('0123-4567-89ab-cde')],
    ['of a code of the app as a recovery code', recovery('123456')],
  ])('%s is none, however often', async (_, entered) => {
    const person = await createPerson();
    for (let count = 0; count < 7; count++)
      expect(await enter(person, entered)).toEqual({ outcome: 'WRONG_SECOND_FACTOR', used: [], woken: 0 });
    expect((await enter(person, ofApp(person.right()))).outcome).toBe('right');
    expect((await enter(person, recovery(person.codes[0] ?? ''))).outcome).toBe('right');
  });

  it('with a right code uses the step of the app, or the digest of the code', async () => {
    const person = await createPerson();
    const { used } = await enter(person, ofApp(person.right()));
    expect(used).toEqual([{ factorId: person.id, step: expect.any(Number), digest: null }]);
    // Pasted with words that make it as long as a recovery code.
    expect((await enter(person, ofApp(`abcde${person.right()}fghjk`))).used).toEqual(used);
    const [code = ''] = person.codes;
    expect((await enter(person, recovery(code))).used).toEqual([
      { factorId: null, step: null, digest: digestRecoveryCode(person.userId, code) },
    ]);
  });

  it('that is right takes no permit for long', async () => {
    const person = await createPerson();
    for (let count = 0; count < 12; count++) expect((await enter(person, ofApp(person.right()))).outcome).toBe('right');
  });

  it.each(['app', 'recovery'] as const)('of %s has five chances, and tells of the fifth once a day', async (kind) => {
    const [person, other] = [await createPerson(), await createPerson()];
    const wrong = () => ({ kind, code: kind === 'app' ? person.wrong() : '0000-0000-0000-0000' });
    const miss = (at = 0) => enter(person, wrong(), { at, isRight: false });
    for (let count = 1; count <= 4; count++)
      expect(await miss()).toMatchObject({ outcome: 'WRONG_SECOND_FACTOR', woken: 0 });
    expect(await noticesOf(person)).toEqual([]);
    expect(await miss()).toMatchObject({ outcome: 'WRONG_SECOND_FACTOR', woken: 1 });
    expect(await noticesOf(person)).toEqual(['secondFactorFailed']);
    expect((await miss()).outcome).toBe('TOO_MANY_ATTEMPTS');
    const right = { kind, code: kind === 'app' ? person.right() : (person.codes[0] ?? '') };
    expect(await enter(person, right)).toEqual({ outcome: 'TOO_MANY_ATTEMPTS', used: [], woken: 0 });
    // The other kind and other people have their own.
    const second = kind === 'app' ? recovery(person.codes[0] ?? '') : ofApp(person.right());
    expect((await enter(person, second)).outcome).toBe('right');
    expect((await enter(other, { kind, code: kind === 'app' ? other.right() : (other.codes[0] ?? '') })).outcome).toBe(
      'right',
    );
    // One more in 30 minutes.
    expect((await miss(29)).outcome).toBe('TOO_MANY_ATTEMPTS');
    expect(await miss(31)).toMatchObject({ outcome: 'WRONG_SECOND_FACTOR', woken: 0 });
    expect((await miss(31)).outcome).toBe('TOO_MANY_ATTEMPTS');
    for (const at of [24 * 60 - 10, 24 * 60 - 10, 24 * 60 - 10, 24 * 60 - 10, 24 * 60 - 10]) await miss(at);
    expect(await noticesOf(person)).toHaveLength(1);
    for (let count = 0; count < 5; count++) await miss(49 * 60);
    expect(await noticesOf(person)).toHaveLength(2);
  });

  it('tells nobody where Usher sends no e-mails', async () => {
    const person = await createPerson();
    for (let count = 1; count <= 5; count++)
      expect((await enter(person, ofApp(person.wrong()), { mails: false })).outcome).toBe('WRONG_SECOND_FACTOR');
    expect(await noticesOf(person)).toEqual([]);
  });

  it('says that somebody has used the code of an app, and that a recovery code is wrong', async () => {
    const person = await createPerson();
    for (let count = 1; count <= 5; count++)
      expect(await enter(person, ofApp(person.right()), { isRight: false })).toMatchObject({
        outcome: 'SECOND_FACTOR_USED',
        woken: 0,
      });
    // Each took a permit, and nobody has guessed.
    expect((await enter(person, ofApp(person.right()))).outcome).toBe('TOO_MANY_ATTEMPTS');
    expect(await noticesOf(person)).toEqual([]);
    const [code = ''] = person.codes;
    expect((await enter(person, recovery(code), { isRight: false })).outcome).toBe('WRONG_SECOND_FACTOR');
  });

  it('of an app whose secret cannot be read is wrong', async () => {
    const person = await createPerson();
    const sealed = cipher.encrypt('0', { applicationId: person.userId, id: person.id });
    await sql`update totp_secrets set sealed = ${sealed} where user_id = ${person.userId}`;
    expect(await enter(person, ofApp(person.right()))).toMatchObject({ outcome: 'WRONG_SECOND_FACTOR', used: [] });
  });

  it('of somebody without an app is wrong', async () => {
    const person = { ...(await createPerson()), userId: randomUUID() };
    expect(await enter(person, ofApp(person.right()))).toMatchObject({ outcome: 'WRONG_SECOND_FACTOR', used: [] });
  });
});

describe('a second factor', () => {
  const { call } = callAt();
  const isThere = async ({ userId }: Person) => [
    (await sql`select from totp_secrets where user_id = ${userId}`).length,
    (await sql`select from recovery_codes where user_id = ${userId}`).length,
    (await sql`select has_second_factor from users where id = ${userId}`)[0]?.has_second_factor,
  ];
  const isMarked = async ({ userId }: Person) =>
    (await sql`select passkey_removed_at from users where id = ${userId}`)[0]?.passkey_removed_at !== null;
  const eventsOf = async ({ userId }: Person) =>
    (await sql`select from audit_events where resource = ${userId}`).length;

  it('is found with the number of its own codes, and for nobody else', async () => {
    const [person, other] = [await createPerson(), await createPerson()];
    await sql`delete from recovery_codes where digest = ${digestRecoveryCode(other.userId, other.codes[0] ?? '') ?? null}`;
    expect(await getSecondFactor(call, { userId: person.userId })).toMatchObject({
      recoveryCodesLeft: 2,
      lastUsedAt: null,
    });
    await removeSecondFactor(call, { userId: person.userId });
    expect(await getSecondFactor(call, { userId: person.userId })).toBeUndefined();
    expect(await getSecondFactor(call, { userId: other.userId })).toMatchObject({ recoveryCodesLeft: 1 });
    await expect(getSecondFactor(call, { userId: randomUUID() })).rejects.toThrow('User not found');
  });

  it('is removed with its codes, of this user alone, and the user is told', async () => {
    const [person, other] = [await createPerson(), await createPerson()];
    const { call, woken } = callAt();
    await removeSecondFactor(call, { userId: person.userId });
    expect([await isThere(person), await isThere(other)]).toEqual([
      [0, 0, false],
      [1, 2, true],
    ]);
    expect([await isMarked(person), await isMarked(other)]).toEqual([true, false]);
    expect(await noticesOf(person)).toEqual(['secondFactorRemoved']);
    expect(woken.count).toBe(1);
    // A second time there is nothing to remove, and nothing to tell.
    await removeSecondFactor(call, { userId: person.userId });
    expect([await eventsOf(person), await noticesOf(person)]).toEqual([1, ['secondFactorRemoved']]);
  });

  it('is removed only if it is still the one', async () => {
    const person = await createPerson();
    await removeSecondFactor(call, { userId: person.userId }, { id: randomUUID() });
    expect(await isThere(person)).toEqual([1, 2, true]);
    await removeSecondFactor(call, { userId: person.userId }, { id: person.id });
    expect(await isThere(person)).toEqual([0, 0, false]);
  });

  it('stays for somebody who is no longer signed in, and for a deleted user', async () => {
    const [person, deleted] = [await createPerson(), await createPerson()];
    await sql`update users set cutoff_count = 1 where id = ${person.userId}`;
    await sql`update users set deleted_at = now() where id = ${deleted.userId}`;
    const signedIn = callAt(0, { cutoffCount: 0 }).call;
    await expect(removeSecondFactor(signedIn, { userId: person.userId })).rejects.toThrow('User not found');
    await expect(removeSecondFactor(call, { userId: deleted.userId })).rejects.toThrow('User not found');
    expect([await isThere(person), await isThere(deleted)]).toEqual([
      [1, 2, true],
      [1, 2, true],
    ]);
    await removeSecondFactor(callAt(0, { cutoffCount: 1 }).call, { userId: person.userId });
    expect(await isThere(person)).toEqual([0, 0, false]);
  });

  it('is removed by an operator with every sign-in, and the next credential counts in full', async () => {
    const person = await createPerson();
    expect(await resetSecondFactor(call, { userId: person.userId })).toBe(person.userId);
    expect([await isThere(person), await isMarked(person)]).toEqual([[0, 0, false], false]);
    expect(await sql`select from user_cutoffs where user_id = ${person.userId}`).toHaveLength(1);
    expect(await resetSecondFactor(call, { userId: person.userId })).toBe(person.userId);
    await expect(resetSecondFactor(call, { userId: randomUUID() })).rejects.toThrow('User not found');
  });
});
