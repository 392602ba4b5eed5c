/** Each condition of the statements about stored notices. How they are sent: test/integration/login-page/notices.test.ts. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { statement } from '../../../../src/database/sql/template.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../../src/domain/core/own-applications.ts';
import {
  claimNotice,
  type DueNotice,
  findDueNotices,
  postponeNotice,
  removeNotice,
} from '../../../../src/domain/notices/due-notices.ts';
import { noticeParameters, noticeToUser } from '../../../../src/domain/notices/store-notice.ts';
import { cloneDatabase, LAYOUT } from '../../../support/database.ts';

const stored = await cloneDatabase();
const database = new Database(stored.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await stored[Symbol.asyncDispose]();
});
const { sql } = stored;
const run = database.within(Number.POSITIVE_INFINITY);

const SECOND = 1_000;
const NOW = new Date();
const inMs = (ms: number) => new Date(NOW.getTime() + ms);
const [APPLICATION, ID] = [randomUUID(), randomUUID()];

beforeEach(() => sql`delete from notices`);

async function store(...notices: readonly object[]): Promise<void> {
  const fields = {
    ...{ application_id: APPLICATION, id: ID, kind: 'walletRemoved', user_id: randomUUID() },
    ...{ recipient: 'ada@example.com', value: '', language: 'en', changed_at: NOW, due_at: NOW, expires_at: NOW },
  };
  const rows = notices.map((notice) => ({ ...fields, ...notice }));
  await sql`insert into notices ${sql(rows as never)}`;
}

async function find(now = NOW): Promise<DueNotice> {
  const [notice] = await findDueNotices(run, now, 1);
  if (!notice) throw new Error('Nothing is due');
  return notice;
}

const read = () => sql`select application_id, id, kind, attempts, due_at from notices order by value`;

/** Of the same change, of another one, and of another application. */
const OTHERS = [{ kind: 'walletLinked' }, { id: randomUUID() }, { application_id: randomUUID() }].map(
  (columns, at) => ({
    ...columns,
    value: `${at + 1}`,
    due_at: inMs(at - 3),
  }),
);

test.each<[string, (notice: DueNotice) => Promise<unknown>, after: object[]]>([
  ['claimed', (notice) => claimNotice(run, notice, NOW), [{ attempts: 1, due_at: inMs(60 * SECOND) }]],
  [
    'postponed',
    async (notice) => {
      await claimNotice(run, notice, NOW);
      await postponeNotice(run, notice, NOW);
    },
    [{ attempts: 1, due_at: inMs(5 * SECOND) }],
  ],
  ['removed', (notice) => removeNotice(run, notice), []],
])('a notice is %s alone', async (_, change, after) => {
  await store({ due_at: inMs(-10) }, ...OTHERS);
  await change(await find());
  const rest = OTHERS.map(({ value: _value, ...columns }) => ({ ...columns, attempts: 0 }));
  expect(await read()).toMatchObject([...after, ...rest]);
});

test('of notices with one claim each, one alone is postponed', async () => {
  await store({ due_at: inMs(-10) }, ...OTHERS);
  const notice = await find();
  await sql`update notices set attempts = 1`;
  await postponeNotice(run, notice, NOW);
  const rest = OTHERS.map(({ value: _value, ...columns }) => columns);
  expect(await read()).toMatchObject([{ due_at: inMs(5 * SECOND) }, ...rest]);
});

test.each<[string, (notice: DueNotice) => Promise<unknown>, now: Date]>([
  ['another process has claimed', (notice) => claimNotice(run, notice, NOW), NOW],
  ['another process has claimed, and let wait too long', (notice) => claimNotice(run, notice, NOW), inMs(61 * SECOND)],
  ['was put off', () => sql`update notices set due_at = ${inMs(1)}`, NOW],
  ['was removed', (notice) => removeNotice(run, notice), NOW],
])('nobody claims a notice that %s', async (_, meanwhile, now) => {
  await store({});
  const notice = await find();
  await meanwhile(notice);
  expect(await claimNotice(run, notice, now)).toBe(false);
});

test('a process that was late puts off nothing that another one has claimed', async () => {
  await store({});
  const notice = await find();
  await claimNotice(run, notice, NOW);
  const again = inMs(60 * SECOND);
  await claimNotice(run, await find(again), again);
  await postponeNotice(run, notice, again);
  expect(await read()).toMatchObject([{ attempts: 2, due_at: inMs(120 * SECOND) }]);
});

test('each attempt waits twice as long as the last one, and half an hour at most', async () => {
  await store({});
  const delays: number[] = [];
  for (let now = NOW; delays.length < 11; now = (await read())[0]?.due_at) {
    const notice = await find(now);
    await claimNotice(run, notice, now);
    await postponeNotice(run, notice, now);
    delays.push(((await read())[0]?.due_at - now.getTime()) / SECOND);
  }
  expect(delays).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_800, 1_800]);
});

test('those that are due come first that are due longest', async () => {
  await store(...[1, 0, -2, -1].map((ms) => ({ id: randomUUID(), value: `${ms}`, due_at: inMs(ms) })), {
    kind: 'deviceAllowed',
    value: '-3',
    due_at: inMs(-3),
    application_id: randomUUID(),
  });
  const values = async (limit: number) => (await findDueNotices(run, NOW, limit)).map(({ value }) => value);
  expect(await values(10)).toEqual(['-3', '-2', '-1', '0']);
  expect(await values(2)).toEqual(['-3', '-2']);
});

const storeTestNotice = statement('store_test_notice')`with ${noticeToUser('newDevice')} select`;

test.each<[string, user: object, origin: object, after: object | undefined, hasServer?: boolean]>([
  ['of a login', {}, { applicationId: APPLICATION, locale: 'de' }, { application_id: APPLICATION, language: 'de' }],
  ['of the account page', {}, {}, { application_id: ACCOUNT_APPLICATION_ID, language: 'en' }],
  ['for a user who is gone', { deleted_at: NOW }, {}, undefined],
  ['for a user without an address', { email: '' }, {}, undefined],
  ['without a mail server', {}, {}, undefined, false],
])('a notice %s', async (_, columns, origin, after, hasServer = true) => {
  const [userId, stranger] = [randomUUID(), randomUUID()];
  const userOf = (id: string) => ({ id, email: `${id}@example.com`, wallet_address: '', created_at: NOW });
  await sql`insert into users ${sql({ ...userOf(userId), ...columns })}`;
  await sql`insert into users ${sql(userOf(stranger))}`;
  const notices = { toLanguage: (locale?: string | null) => locale ?? 'en', wake: () => {} };
  const call = { run, now: NOW, ...(hasServer && { notices }) };
  await run(storeTestNotice, { userId, now: NOW, ...noticeParameters(call, origin) });
  const dates = { changed_at: NOW, due_at: NOW, expires_at: inMs(24 * 60 * 60 * SECOND) };
  const stored = { kind: 'newDevice', user_id: userId, recipient: `${userId}@example.com`, value: '', ...dates };
  expect(await sql`select * from notices`).toMatchObject(after ? [{ ...stored, ...after }] : []);
});
