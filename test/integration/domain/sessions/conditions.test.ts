/** Each condition that ends sign-ins, a row each: statements have them as parts. What people see: test/contract/revocations.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { afterAll, describe, expect, test } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { p, statement, t } from '../../../../src/database/sql/template.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import type { Call } from '../../../../src/domain/core/call.ts';
import { type Browser, hasCompleted, isInBrowser, shortenUserAgent } from '../../../../src/domain/sessions/browser.ts';
import { cutOffBrowser, isSignedInHere, isStillHere } from '../../../../src/domain/sessions/browser-cutoffs.ts';
import {
  isConsentAfterCutoff,
  isGrantAfterEveryCutoff,
  isGrantAfterOwnCutoffs,
  isSidCutOff,
  isSignInAfterEveryCutoff,
  latestCutoff,
  latestCutoffOfAllowed,
  latestOwnCutoff,
} from '../../../../src/domain/sessions/cutoffs.ts';
import { forgetLateSignIns, forgetLateSignInsOfBrowser } from '../../../../src/domain/sessions/forget-sign-ins.ts';
import { endLateSession, endLateSessions } from '../../../../src/domain/sessions/late-sessions.ts';
import { sidOf } from '../../../../src/domain/sessions/sid.ts';
import { LAYOUT } from '../../../support/database.ts';
import { beginSession, createTenant, createTestUser, startTestService } from '../../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 4, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const { sql: rows } = service.database;
const [app, other] = [await createTenant(service), await createTenant(service)];

const NOW = new Date();
const [HOUR, DAY] = [3_600_000, 86_400_000];
const at = (ms: number) => new Date(NOW.getTime() + ms);
const SIGNED_IN = at(-HOUR);
const run = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now: NOW });
const call: Call = { run, now: NOW };
const authenticatedAt = p.instant('authenticatedAt');

/** Returns the value of the expression for a sign-in an hour ago. */
async function evaluate(expression: SQL, of: Partial<Scene>, from = sql``) {
  const select = statement('evaluate', { value: t.text })`select (${expression})::text as value ${from}`;
  const [row] = await run(select, { applicationId: app.id, authenticatedAt: SIGNED_IN, ...of });
  return row?.value;
}

const EVERY_USER = '00000000-0000-0000-0000-000000000000';
const EVERY_REFUSED = '00000000-0000-0000-0000-000000000001';

interface Scene {
  userId: string;
  browserDigest: Buffer;
  sid: string;
  applicationId: string;
}
type Change = (scene: Scene) => PromiseLike<unknown> | undefined;

async function createScene(): Promise<Scene> {
  const [{ id: userId }, browserDigest] = [await createTestUser(service), randomBytes(32)];
  return { userId, browserDigest, sid: sidOf(app.id, userId, browserDigest), applicationId: app.id };
}

const cutOff = (userId: string, instant = SIGNED_IN, applicationId = app.id) => rows`
  insert into session_cutoffs values (${applicationId}, ${userId}, ${instant}, ${at(DAY)})`;
const cutOffEverywhere = (userId: string, instant = SIGNED_IN) => rows`
  insert into user_cutoffs values (${userId}, ${instant}, ${at(DAY)})`;
const cutOffHere = (userId: string, digest: Buffer, instant = SIGNED_IN) => rows`
  insert into browser_cutoffs values (${userId}, ${digest}, ${instant}, ${at(DAY)})`;
const setUser = (userId: string, columns: object) =>
  rows`update users set ${rows(columns as never)} where id = ${userId}`;
const BEFORE = at(-HOUR - 1);

const ofBrowser: readonly (readonly [string, Change, boolean])[] = [
  ['nothing has happened', () => undefined, true],
  ['signed out at that instant', (s) => cutOffHere(s.userId, s.browserDigest), false],
  ['signed out before', (s) => cutOffHere(s.userId, s.browserDigest, BEFORE), true],
  ['signed out in another browser', (s) => cutOffHere(s.userId, randomBytes(32)), true],
  ['somebody else has signed out', (s) => cutOffHere(randomUUID(), s.browserDigest), true],
];

test.each(ofBrowser)('is signed in here: %s', async (_, change, holds) => {
  const scene = await createScene();
  await change(scene);
  expect(await evaluate(isSignedInHere(authenticatedAt), scene)).toBe(String(holds));
});

const ofSid: typeof ofBrowser = [
  ['nothing has happened', () => undefined, true],
  ['the application has signed out at that instant', (s) => cutOff(s.sid), false],
  ['the application has signed out before', (s) => cutOff(s.sid, BEFORE), true],
  ['another application has signed out', (s) => cutOff(s.sid, SIGNED_IN, other.id), true],
  ['the application has signed out elsewhere', () => cutOff(randomUUID()), true],
];

test.each([...ofBrowser, ...ofSid])('is still here: %s', async (_, change, holds) => {
  const scene = await createScene();
  await change(scene);
  expect(await evaluate(isStillHere(authenticatedAt), scene)).toBe(String(holds));
});

test.each(ofSid)('has not signed out by its session ID: %s', async (_, change, holds) => {
  const scene = await createScene();
  await change(scene);
  expect(await evaluate(sql`not ${isSidCutOff(p.uuid('sid'), authenticatedAt)}`, scene)).toBe(String(holds));
});

const restrict = ({ applicationId }: Scene) =>
  rows`update applications set restrict_access = true where id = ${applicationId}`;
const letIn = ({ applicationId, userId }: Scene) =>
  rows`insert into added_users values (${applicationId}, ${userId}, ${NOW})`;

/** What ends a sign-in of the user in the application, whoever asks. */
const ofUser: readonly (readonly [string, Change, boolean])[] = [
  ['nothing has happened', () => undefined, true],
  ['cut off here', (s) => cutOff(s.userId, SIGNED_IN, s.applicationId), false],
  ['cut off here before', (s) => cutOff(s.userId, BEFORE, s.applicationId), true],
  ['all cut off here', (s) => cutOff(EVERY_USER, SIGNED_IN, s.applicationId), false],
  ['somebody else cut off here', (s) => cutOff(randomUUID(), SIGNED_IN, s.applicationId), true],
  ['cut off elsewhere', (s) => cutOff(s.userId, SIGNED_IN, other.id), true],
  ['cut off everywhere', (s) => cutOffEverywhere(s.userId), false],
  ['cut off everywhere before', (s) => cutOffEverywhere(s.userId, BEFORE), true],
  ['somebody else cut off everywhere', () => cutOffEverywhere(randomUUID()), true],
  [
    'cut off here before, and everywhere since',
    async (s) => {
      await cutOff(s.userId, BEFORE, s.applicationId);
      await cutOffEverywhere(s.userId);
    },
    false,
  ],
];
/** Of a restricted application, while many lose the access at once. */
const ofRefused: typeof ofUser = [
  ['refused, and nobody is cut off', (s) => restrict(s), true],
  [
    'refused, and all who are refused are cut off',
    async (s) => {
      await restrict(s);
      await cutOff(EVERY_REFUSED, at(DAY), s.applicationId);
    },
    false,
  ],
  [
    'refused, and all who are refused elsewhere are cut off',
    async (s) => {
      await restrict(s);
      await rows`delete from session_cutoffs where user_id = ${EVERY_REFUSED}`;
      await cutOff(EVERY_REFUSED, at(DAY), other.id);
    },
    true,
  ],
  [
    'let in, and all who are refused are cut off',
    async (s) => {
      await restrict(s);
      await letIn(s);
      await cutOff(EVERY_REFUSED, at(DAY), s.applicationId);
    },
    true,
  ],
  [
    'all who are refused are cut off, but nobody is refused',
    (s) => cutOff(EVERY_REFUSED, at(DAY), s.applicationId),
    true,
  ],
];

const createApart = async () => ({ ...(await createScene()), applicationId: (await createTenant(service)).id });

describe.each<[string, SQL, refuses: 'at once' | 'now' | 'never', asGrant?: boolean]>([
  ['the latest cut-off', sql`${authenticatedAt} > ${latestCutoff(p.uuid('userId'))}`, 'now'],
  [
    'the latest cut-off of those who may enter',
    sql`${authenticatedAt} > ${latestCutoffOfAllowed(p.uuid('userId'))}`,
    'at once',
  ],
  ["the user's own latest cut-off", sql`${authenticatedAt} > ${latestOwnCutoff(p.uuid('userId'))}`, 'never'],
  ['a sign-in', sql`exists (select 1 from users where ${isSignInAfterEveryCutoff(authenticatedAt)})`, 'now'],
  ['a grant', isGrantAfterEveryCutoff, 'now', true],
  ['a grant of one who may enter', isGrantAfterOwnCutoffs, 'never', true],
])('%s', (_, condition, refuses, asGrant = false) => {
  const grant = sql`from (select ${p.uuid('applicationId')} as application_id, ${p.uuid('userId')} as user_id,
    ${authenticatedAt} as authenticated_at) as oidc_grants`;

  test.each([...ofUser, ...ofRefused])('%s', async (what, change, holds) => {
    const scene = await createApart();
    await change(scene);
    const isRefused = what.startsWith('refused');
    const expected =
      refuses === 'never'
        ? holds || ofRefused.some(([each]) => each === what)
        : holds && !(refuses === 'at once' && isRefused);
    expect(await evaluate(condition, scene, asGrant ? grant : sql``)).toBe(String(expected));
  });
});

test.each<[string, Change]>([
  ['deactivated', ({ userId }) => setUser(userId, { deactivated_at: NOW })],
  ['deleted', ({ userId }) => setUser(userId, { deleted_at: NOW })],
])('a sign-in of a user who is %s has ended', async (_, change) => {
  const scene = await createScene();
  await change(scene);
  const holds = sql`exists (select 1 from users where ${isSignInAfterEveryCutoff(authenticatedAt)})`;
  expect(await evaluate(holds, scene)).toBe('false');
});

test.each<[string, consent: SQL, Change, boolean]>([
  ['after nothing', authenticatedAt, () => undefined, true],
  ['by that instant', authenticatedAt, (s) => cutOffEverywhere(s.userId), false],
  ['before it', authenticatedAt, (s) => cutOffEverywhere(s.userId, BEFORE), true],
  ['of somebody else', authenticatedAt, () => cutOffEverywhere(randomUUID()), true],
  [
    'by the time of one without a sign-in',
    sql`null::timestamptz`,
    (s) => cutOffEverywhere(s.userId, at(-HOUR / 2)),
    false,
  ],
  [
    'before the time of one without a sign-in',
    sql`null::timestamptz`,
    (s) => cutOffEverywhere(s.userId, at(-HOUR / 2 - 1)),
    true,
  ],
])('a consent ends by a cut-off everywhere %s', async (_, signedInAt, change, holds) => {
  const scene = await createScene();
  await change(scene);
  const createdAt = sql`${authenticatedAt} + interval '30 minutes'`;
  const consent = sql`from (select ${p.uuid('userId')} as user_id, ${signedInAt} as authenticated_at, ${createdAt} as created_at) c`;
  expect(await evaluate(isConsentAfterCutoff, scene, consent)).toBe(String(holds));
});

describe('a cut-off in one browser', () => {
  const cutoffOf = ({ userId }: Scene) => rows`select * from browser_cutoffs where user_id = ${userId}`;

  test('is not before a sign-in of a clock that is ahead, lasts two days, and only moves forward', async () => {
    const scene = await createScene();
    await cutOffBrowser(call, { ...scene, authenticatedAt: at(HOUR) });
    const cutoff = { user_id: scene.userId, browser_digest: scene.browserDigest, cutoff_at: at(HOUR) };
    expect(await cutoffOf(scene)).toEqual([{ ...cutoff, expires_at: at(2 * DAY) }]);
    await cutOffBrowser({ ...call, now: at(-DAY) }, { ...scene, authenticatedAt: at(2 * HOUR) });
    await cutOffBrowser({ ...call, now: at(-DAY) }, scene);
    expect(await cutoffOf(scene)).toEqual([{ ...cutoff, cutoff_at: at(2 * HOUR), expires_at: at(2 * DAY) }]);
    await cutOffBrowser({ ...call, now: at(DAY) }, scene);
    expect(await cutoffOf(scene)).toEqual([{ ...cutoff, cutoff_at: at(2 * HOUR), expires_at: at(3 * DAY) }]);
  });

  test('is of now without one, whatever the sign-in, and later than it once it is written', async () => {
    const scene = await createScene();
    await cutOffBrowser(call, { ...scene, authenticatedAt: SIGNED_IN });
    const end = Date.now();
    const [cutoff] = await cutoffOf(scene);
    expect(cutoff?.cutoff_at.getTime()).toBeGreaterThanOrEqual(NOW.getTime());
    expect(cutoff?.cutoff_at.getTime()).toBeLessThan(end);
  });

  test('is none of a deleted user, or of nobody', async () => {
    const [scene, nobody] = [await createScene(), { ...(await createScene()), userId: randomUUID() }];
    await setUser(scene.userId, { deleted_at: NOW });
    for (const each of [scene, nobody]) {
      await cutOffBrowser(call, each);
      expect(await cutoffOf(each)).toEqual([]);
    }
  });
});

test.each<[string, Partial<Scene>, boolean]>([
  ['all the same', {}, true],
  ['another application', { applicationId: randomUUID() }, false],
  ['another login', { sid: randomUUID() }, false],
  ['another browser', { browserDigest: randomBytes(32) }, false],
])('is of a login in this browser: %s', async (_, change, holds) => {
  const scene = await createScene();
  const { applicationId = scene.applicationId, sid = scene.sid, browserDigest = scene.browserDigest } = change;
  const from = sql`from (select '${sql.raw(applicationId)}'::uuid as application_id, '${sql.raw(sid)}'::uuid as login_intent_id,
    '\\x${sql.raw(browserDigest.toString('hex'))}'::bytea as browser_digest) row`;
  expect(await evaluate(isInBrowser, { ...scene, loginIntentId: scene.sid } as Scene, from)).toBe(String(holds));
});

describe('a browser has completed a login', () => {
  const [digest, answer, earlier, another] = [1, 2, 3, 4].map((byte) => Buffer.alloc(32, byte)) as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ];
  const browser: Browser = { digest, answerDigest: answer, knownAnswers: [earlier], address: '', userAgent: '' };
  test.each<[string, Buffer | null, Buffer | null, boolean]>([
    ['with this request', digest, answer, true],
    ['with one before', digest, earlier, true],
    ['of version 1.0.0', digest, null, true],
    ['not with another answer', digest, another, false],
    ['not in another browser', another, answer, false],
    ['not in another browser of version 1.0.0', another, null, false],
    ['not if none has', null, answer, false],
  ])('%s', (_, browserDigest, answerDigest, holds) => {
    expect(hasCompleted(browser, { browserDigest, answerDigest })).toBe(holds);
  });

  test('a user agent is cut after 512 characters', () => {
    expect(shortenUserAgent('x'.repeat(513))).toBe('x'.repeat(512));
  });
});

describe('forgets late sign-ins', () => {
  const remember = async ({ userId, browserDigest }: Scene, instant: Date) => rows`
    insert into remembered_sign_ins (token_digest, user_id, browser_digest, method, authenticated_at, expires_at)
    values (${randomBytes(32)}, ${userId}, ${browserDigest}, 'email_code', ${instant}, ${at(DAY)})`;
  const leftOf = async ({ userId }: Scene) =>
    (await rows`select authenticated_at from remembered_sign_ins where user_id = ${userId} order by 1`).map(
      ({ authenticated_at }) => authenticated_at.getTime() - NOW.getTime(),
    );

  test('between two instants', async () => {
    const [scene, bystander] = [await createScene(), await createScene()];
    for (const ms of [-3, -2, -1, 0]) await remember(scene, at(ms));
    await remember(bystander, at(-1));
    await forgetLateSignIns(call, scene.userId, { from: at(-2), until: null });
    expect(await leftOf(scene)).toEqual([-3, -2, -1, 0]);
    await forgetLateSignIns(call, scene.userId, { from: at(-2), until: at(-1) });
    expect([await leftOf(scene), await leftOf(bystander)]).toEqual([[-3, 0], [-1]]);
  });

  test('of one browser until an instant', async () => {
    const [scene, bystander] = [await createScene(), await createScene()];
    for (const ms of [-1, 0, 1]) await remember(scene, at(ms));
    await remember({ ...scene, browserDigest: randomBytes(32) }, at(-2));
    await remember(bystander, at(-1));
    await forgetLateSignInsOfBrowser(call, { ...scene, until: NOW });
    expect([await leftOf(scene), await leftOf(bystander)]).toEqual([[-2, 1], [-1]]);
  });
});

describe('ends a late session', () => {
  const isThere = async (sessionId: string) => (await rows`select from sessions where id = ${sessionId}`).length === 1;
  const set = (sessionId: string) => rows`update sessions set authenticated_at = ${SIGNED_IN} where id = ${sessionId}`;
  const late: readonly (readonly [string, Change, here: boolean, everywhere: boolean])[] = [
    ['nothing has happened', () => undefined, false, false],
    ['cut off here at its sign-in', (s) => cutOff(s.userId), true, false],
    ['cut off here before', (s) => cutOff(s.userId, BEFORE), false, false],
    ['cut off everywhere at its sign-in', (s) => cutOffEverywhere(s.userId), true, true],
    ['cut off everywhere before', (s) => cutOffEverywhere(s.userId, BEFORE), false, false],
    ['the user is deactivated', (s) => setUser(s.userId, { deactivated_at: NOW }), true, true],
    ['the user is deleted', (s) => setUser(s.userId, { deleted_at: NOW }), true, true],
  ];

  test.each(late)('%s', async (_, change, here, everywhere) => {
    for (const isEverywhere of [false, true]) {
      const scene = await createScene();
      const own = { id: scene.userId };
      const bystander = await beginSession(service, app, await createTestUser(service));
      const ids = [await beginSession(service, app, own), await beginSession(service, other, own), bystander];
      for (const id of ids) await set(id);
      await change(scene);
      if (isEverywhere) await endLateSessions(call, scene.userId);
      else await endLateSession(call, { ...scene, mayRemoveUser: false });
      const left = await Promise.all(ids.map(isThere));
      expect(left).toEqual(isEverywhere ? [!everywhere, !everywhere, true] : [!here, true, true]);
    }
  });

  test.each([
    ['its first session', true, true, true],
    ['a later session', true, false, false],
    ['nothing but the session, unless it is told to', false, true, false],
  ])('and leaves the application with %s', async (_, mayRemoveUser, isFirst, hasLeft) => {
    const scene = await createScene();
    const bystander = await createTestUser(service);
    const sessionId = await beginSession(service, app, { id: scene.userId });
    await beginSession(service, other, { id: scene.userId });
    await beginSession(service, app, bystander);
    if (isFirst) {
      const [session] = await rows`select began_at from sessions where id = ${sessionId}`;
      await rows`update application_users set first_signed_in_at = ${session?.began_at}`;
    } else await rows`update sessions set began_at = ${at(DAY)} where id = ${sessionId}`;
    await set(sessionId);
    await cutOff(scene.userId);
    await endLateSession(call, { ...scene, mayRemoveUser });
    const left =
      await rows`select application_id from application_users where user_id in (${scene.userId}, ${bystander.id})`;
    expect(left).toHaveLength(hasLeft ? 2 : 3);
    expect(await isThere(sessionId)).toBe(false);
  });

  test('says whether the user is erased', async () => {
    const scene = await createScene();
    const end = () => endLateSession(call, { ...scene, mayRemoveUser: false });
    expect(await end()).toBeUndefined();
    await setUser(scene.userId, { deleted_at: NOW });
    expect(await end()).toEqual({ isOfErased: false });
    await setUser(scene.userId, { email: '', wallet_address: '' });
    expect(await end()).toEqual({ isOfErased: true });
    expect(await endLateSession(call, { ...scene, userId: randomUUID(), mayRemoveUser: false })).toBeUndefined();
  });
});
