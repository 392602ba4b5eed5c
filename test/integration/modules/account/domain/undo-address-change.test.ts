/** Which links restore an e-mail address after several changes. Addresses are letters: the user begins with A. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../../src/domain/audit/audit-event.ts';
import { eraseUser } from '../../../../../src/domain/lifecycle/end-user.ts';
import { changeOwnEmail, linkWallet, updateUser } from '../../../../../src/domain/users/update-user.ts';
import {
  type AddressChange,
  undoAddressChange,
} from '../../../../../src/modules/account/domain/undo-address-change.ts';
import { HOUR, TestClock } from '../../../../support/clock.ts';
import { LAYOUT } from '../../../../support/database.ts';
import { holdLock, waitForLockWaiters } from '../../../../support/lock.ts';
import { createTestUser, startTestService } from '../../../../support/service.ts';

const DAY = 24 * HOUR;
/** The longest difference between the clocks of two replicas in these tests. */
const SKEW = 5_000;
const REFUSED = 'User not found';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 4, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const { sql } = service.database;

const clock = new TestClock();
let userId: string;
let addressOf: (letter: string) => string;
beforeEach(async () => {
  const mark = randomUUID();
  addressOf = (letter) => `${letter}-${mark}@example.com`;
  userId = (await createTestUser(service, { email: addressOf('A') })).id;
  clock.advance(1_000);
});

function callAt(now = clock.read()) {
  return { now, run: withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now }) };
}

async function change(letter: string, now?: Date): Promise<AddressChange> {
  return { userId, ...(await changeOwnEmail(callAt(now), { userId, email: addressOf(letter) })) };
}

const undo = (link: AddressChange, now?: Date) => undoAddressChange(callAt(now), link);
const changeByOperator = (letter: string) => updateUser(callAt(), { userId, email: addressOf(letter) });

async function readUser() {
  const [user] = await sql`select * from users where id = ${userId}`;
  return user ?? {};
}
const currentLetter = async () => (await readUser()).email?.split('-')[0];

describe('the link of a change', () => {
  it('restores the old address after later changes, and voids their links', async () => {
    const [toB, toC, toD] = [await change('B'), await change('C'), await change('D')];
    await undo(toB);
    expect(await currentLetter()).toBe('A');
    for (const link of [toC, toD]) await expect(undo(link)).rejects.toThrow(REFUSED);
    expect(await currentLetter()).toBe('A');
  });

  it('works after the link of a later change', async () => {
    const [toB, toC] = [await change('B'), await change('C')];
    await undo(toC);
    expect(await currentLetter()).toBe('B');
    await undo(toB);
    expect(await currentLetter()).toBe('A');
    await expect(undo(toC)).rejects.toThrow(REFUSED);
  });

  it('works after a link of the change before was used, in any number of rounds', async () => {
    const used: AddressChange[] = [];
    for (const round of ['first', 'second', 'third']) {
      const [victims, intruders] = [await change(`${round} B`), await change(`${round} C`)];
      used.push(victims, intruders);
      // The intruder's own link must not void that of the victim, although links before it are void.
      await undo(intruders);
      await undo(victims);
      expect(await currentLetter()).toBe('A');
    }
    await change('B');
    for (const link of used) {
      await expect(undo(link)).rejects.toThrow(REFUSED);
    }
    expect(await currentLetter()).toBe('B');
  });

  it('is void after a change by an operator, and a later one is not', async () => {
    const links = [await change('B'), await change('C')];
    await changeByOperator('D');
    for (const link of links) await expect(undo(link)).rejects.toThrow(REFUSED);
    const later = await change('E');
    for (const link of links) await expect(undo(link)).rejects.toThrow(REFUSED);
    await undo(later);
    expect(await currentLetter()).toBe('D');
  });

  it('works after an operator has changed something else, or has entered the same address', async () => {
    const link = await change('B');
    await updateUser(callAt(), { userId, name: 'Ada', email: addressOf('B') });
    await undo(link);
    expect(await currentLetter()).toBe('A');
  });

  it('does the same again, unless the user has another address by then', async () => {
    const link = await change('B');
    await undo(link);
    clock.advance(1_000);
    // It keeps what the user has added since.
    await linkWallet(callAt(), { userId, email: addressOf('A'), walletAddress: `0x${randomUUID()}` });
    const cutoff = async () => (await sql`select cutoff_at from user_cutoffs where user_id = ${userId}`)[0]?.cutoff_at;
    const [user, before] = [await readUser(), await cutoff()];
    await undo(link);
    expect(await readUser()).toEqual({ ...user, cutoff_count: user?.cutoff_count + 1 });
    expect((await cutoff()).getTime()).toBeGreaterThan(before.getTime());
    const [toC, toA] = [await change('C'), await change('A')];
    await undo(link);
    // The second use has voided nothing.
    await undo(toA);
    expect(await currentLetter()).toBe('C');
    await expect(undo(link)).rejects.toThrow(REFUSED);
    await undo(toC);
    expect(await currentLetter()).toBe('A');
  });

  it('is refused if somebody else has the address by now, and works when the address is free again', async () => {
    const link = await change('B');
    const other = await createTestUser(service, { email: addressOf('A').toUpperCase() });
    const before = await readUser();
    await expect(undo(link)).rejects.toThrow('User already exists');
    expect(await readUser()).toEqual(before);
    await updateUser(callAt(), { userId: other.id, email: addressOf('other') });
    await undo(link);
    expect(await currentLetter()).toBe('A');
  });

  it('takes back the proof of the new address', async () => {
    const link = await change('B');
    await sql`update users set email_verified_at = now() where id = ${userId}`;
    await undo(link);
    expect(await readUser()).toMatchObject({ email_verified_at: null });
  });

  it('is void after an erasure, which leaves no instant of a change', async () => {
    const [toB] = [await change('B'), await change('C')];
    await undo(toB);
    const toD = await change('D');
    expect(await readUser()).toMatchObject({
      email_changed_at: expect.any(Date),
      void_undo_links: expect.stringMatching(/^\{\[.*\]\}$/),
    });
    await eraseUser(callAt(), { userId });
    await expect(undo(toD)).rejects.toThrow(REFUSED);
    expect(await readUser()).toMatchObject({ email: '', email_changed_at: null, void_undo_links: null });
  });
});

describe('clocks of replicas that differ', () => {
  it.each([
    ['ahead', SKEW],
    ['equal', 0],
    ['behind', -SKEW],
  ])('keep the order of changes and links: each next one is %s', async (_name, step) => {
    let now = clock.read();
    const next = () => (now = new Date(now.getTime() + step));
    const [toB, toC] = [await change('B', next()), await change('C', next())];
    expect(toC.at.getTime()).toBeGreaterThan(toB.at.getTime());
    await undo(toC, next());
    await undo(toB, next());
    await expect(undo(toC, next())).rejects.toThrow(REFUSED);
    const toD = await change('D', next());
    await undo(toD, next());
    expect(await currentLetter()).toBe('A');
    await changeByOperator('E');
    const toF = await change('F', next());
    await expect(undo(toD, next())).rejects.toThrow(REFUSED);
    await undo(toF, next());
    expect(await currentLetter()).toBe('E');
  });
});

describe('two links at the same time', () => {
  /** Resolves when the first statement waits where it keeps its place: on a shared connection it times out, and waits anew. */
  async function waitForFirst(): Promise<void> {
    const isolated = () => sql`
      select from pg_stat_activity where datname = current_database() and state = 'active'
        and application_name = 'usher lock isolation'`;
    await expect.poll(async () => (await isolated()).length, { timeout: 60_000 }).toBe(1);
    await waitForLockWaiters(service.database, 1);
  }

  it.each([
    ['the earlier', (earlier: AddressChange, later: AddressChange) => [earlier, later], ['fulfilled', 'rejected']],
    ['the later', (earlier: AddressChange, later: AddressChange) => [later, earlier], ['fulfilled', 'fulfilled']],
  ] as const)('restore the earliest address, %s first', async (_name, order, outcomes) => {
    const [toB, toC] = [await change('B'), await change('C')];
    const [first, second] = order(toB, toC);
    const lock = await holdLock(service.database, `select from users where id = '${userId}' for update`);
    const used = [undo(first as AddressChange)];
    await waitForFirst();
    used.push(undo(second as AddressChange));
    const settled = Promise.allSettled(used);
    await waitForLockWaiters(service.database, 2);
    await lock.release();
    expect((await settled).map(({ status }) => status)).toEqual(outcomes);
    expect(await currentLetter()).toBe('A');
    await expect(undo(toC)).rejects.toThrow(REFUSED);
  });

  it('and a change leave a link to the address before the change', async () => {
    const toB = await change('B');
    const lock = await holdLock(service.database, `select from users where id = '${userId}' for update`);
    const restored = undo(toB);
    await waitForFirst();
    const changed = change('C');
    await waitForLockWaiters(service.database, 2);
    await lock.release();
    const [, toC] = await Promise.all([restored, changed]);
    expect(toC).toMatchObject({ from: addressOf('A'), to: addressOf('C') });
    await undo(toC);
    expect(await currentLetter()).toBe('A');
  });
});

it('forgets void links after they have expired', async () => {
  const countRanges = async () =>
    (await sql`select count(*)::int from users, unnest(void_undo_links) where id = ${userId}`)[0]?.count;
  for (let round = 0; round < 3; round++) await undo(await change('B'));
  expect(await countRanges()).toBe(3);
  clock.advance(9 * DAY);
  await undo(await change('B'));
  expect(await countRanges()).toBe(1);
});
