/** Each condition of the statements that end grants, a row each. What people see: test/integration/modules/oidc. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { endClient } from '../../../../src/domain/grants/clients.ts';
import {
  endGrant,
  endGrantsOfBrowser,
  endGrantsOfClient,
  endUserGrant,
  findResourcesOfLogin,
} from '../../../../src/domain/grants/end-grants.ts';
import { sidOf } from '../../../../src/domain/sessions/sid.ts';
import { at, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, callOf, readTold, createUser, createApplication } = await openDomain();
const call = callAt();
const CLIENT = 'https://client.test';
const SIGNED_IN = at(-HOUR);

let here: string;
let other: string;
let userId: string;
let digest: Buffer;
let sid: string;
beforeEach(async () => {
  [here, other, userId, digest] = [
    await createApplication({ open_id_connect: true, backchannel_logout_uri: 'https://app.test/logout' }),
    await createApplication(),
    await createUser(),
    randomBytes(32),
  ];
  sid = sidOf(here, userId, digest);
  readTold();
  await insert('webhooks', { application_id: here, id: `logout_${here}`, event_types: [] });
});

type Columns = Readonly<Record<string, unknown>>;

/** Inserts a grant of the user's browser. Returns its ID. */
const insertGrant = async (columns: Columns = {}): Promise<string> =>
  (await insert('oidc_grants', { application_id: here, user_id: userId, sid, ...columns })).id;

/** Returns those of the grants that have ended. */
const readEnded = async () =>
  (await sql`select application_id, id from oidc_grants where ended_at is not null`).map(
    ({ application_id: application, id }) => `${application} ${id}`,
  );

const remember = async (columns: Columns = {}): Promise<Buffer> =>
  (await insert('remembered_sign_ins', { user_id: userId, browser_digest: digest, ...columns })).token_digest;
const isRemembered = async (token: Buffer) =>
  (await sql`select from remembered_sign_ins where token_digest = ${token}`).length === 1;
const cutoffsOf = (id: string) => sql`
  select cutoff_at from session_cutoffs where application_id = ${here} and user_id = ${id}`;

describe('a grant', () => {
  const BEFORE = { rotatedBefore: NOW };
  test.each<[string, columns: Columns, options: { rotatedBefore?: Date }, hasEnded: boolean]>([
    ['ends', {}, {}, true],
    ['does not end again at its expiry', { expires_at: NOW }, {}, false],
    ['ends just before it', { expires_at: at(1) }, {}, true],
    ['ends if its token was replaced then', { rotated_at: NOW }, BEFORE, true],
    ['does not end if it was replaced since', { rotated_at: at(1) }, BEFORE, false],
    ['does not end if it was never replaced', {}, BEFORE, false],
    ['ends whenever it was replaced, if nobody asks', { rotated_at: at(1) }, {}, true],
  ])('%s', async (_, columns, options, hasEnded) => {
    const grantId = await insertGrant(columns);
    // The same ID elsewhere, and another grant here.
    await insertGrant({ id: grantId, application_id: other });
    await insertGrant();
    expect(await endGrant(callOf(here), { grantId }, options)).toBe(hasEnded ? userId : undefined);
    const own = (await readEnded()).filter((each) => each.includes(here) || each.includes(other));
    expect(own).toEqual(hasEnded ? [`${here} ${grantId}`] : []);
    expect(readTold()).toEqual(hasEnded ? [here] : []);
    expect(await cutoffsOf(sid)).toEqual(hasEnded ? [{ cutoff_at: SIGNED_IN }] : []);
  });

  test('ends for its user alone', async () => {
    const [grantId, of] = [await insertGrant(), { applicationId: here, grantId: '' }];
    const ending = { ...of, grantId };
    expect(await endUserGrant(call, { ...ending, userId: await createUser() })).toBeUndefined();
    expect(await endUserGrant(call, { ...ending, userId })).toBe(userId);
  });

  /** What a browser remembers beside the grant of an hour ago. */
  const LATER = at(-HOUR / 2);
  test.each<[string, remembered: () => Columns, beside: (() => Columns) | undefined, isForgotten: boolean]>([
    ['of that sign-in in another browser', () => ({ browser_digest: randomBytes(32) }), () => ({}), true],
    ['of a later one there', () => ({ authenticated_at: LATER }), undefined, true],
    [
      'of a later one elsewhere',
      () => ({ authenticated_at: LATER, browser_digest: randomBytes(32) }),
      undefined,
      false,
    ],
    ['beside a grant', () => ({ authenticated_at: LATER }), () => ({}), false],
    ['of an earlier one beside a grant', () => ({ authenticated_at: at(-2 * HOUR) }), () => ({}), true],
    ['beside one that has ended', () => ({ authenticated_at: LATER }), () => ({ expires_at: NOW }), true],
    ['beside one that ends next', () => ({ authenticated_at: LATER }), () => ({ expires_at: at(1) }), false],
    ['beside one of another browser', () => ({ authenticated_at: LATER }), () => ({ sid: randomUUID() }), true],
    ['beside one of somebody else', () => ({ authenticated_at: LATER }), () => ({ user_id: randomUUID() }), true],
    ['beside one of another application', () => ({ authenticated_at: LATER }), () => ({ application_id: other }), true],
  ])('that ends takes a remembered sign-in %s: %#', async (_, remembered, beside, isForgotten) => {
    const [grantId, token] = [await insertGrant(), await remember(remembered())];
    if (beside) await insertGrant(beside());
    const stranger = await remember({ user_id: randomUUID(), ...remembered() });
    await endGrant(callOf(here, { singleSignOn: true }), { grantId });
    expect([await isRemembered(token), await isRemembered(stranger)]).toEqual([!isForgotten, true]);
  });

  test('takes none if its application shares no sign-ins', async () => {
    const [grantId, token] = [await insertGrant(), await remember()];
    await endGrant(callOf(here), { grantId });
    expect(await isRemembered(token)).toBe(true);
  });
});

describe('the grants of a browser', () => {
  test('end, and no others do', async () => {
    const own = [await insertGrant(), await insertGrant({ client_id: CLIENT })];
    const stranger = await createUser();
    for (const columns of [
      { sid: randomUUID() },
      { user_id: stranger },
      { application_id: other },
      { expires_at: NOW },
    ])
      await insertGrant(columns);
    const [token, elsewhere] = [await remember(), await remember({ browser_digest: randomBytes(32) })];
    await sql`update remembered_sign_ins set authenticated_at = ${at(-1)} where token_digest = ${elsewhere}`;
    await endGrantsOfBrowser(call, { applicationId: here, userId, sid });
    const ended = (await readEnded()).filter((each) => each.includes(here) || each.includes(other));
    expect(ended.sort()).toEqual(own.map((id) => `${here} ${id}`).sort());
    expect([await isRemembered(token), await isRemembered(elsewhere)]).toEqual([false, true]);
    expect(readTold()).toEqual([here]);
  });

  test.each<[string, ms: readonly number[], latest: number | undefined]>([
    ['now', [-HOUR, -2 * HOUR], undefined],
    ['now if there are none', [], undefined],
    ['their latest sign-in, if a clock is ahead', [HOUR, 2 * HOUR, -HOUR], 2 * HOUR],
  ])('are cut off with what comes from before %s', async (_, ms, latest) => {
    for (const each of ms) await insertGrant({ authenticated_at: at(each) });
    await endGrantsOfBrowser(call, { applicationId: here, userId, sid });
    const [cutoff, ...more] = await cutoffsOf(sid);
    expect(more).toEqual([]);
    const instant = cutoff?.cutoff_at.getTime() - NOW.getTime();
    if (latest === undefined) expect(instant).toBeGreaterThanOrEqual(0);
    expect(instant).toBeLessThanOrEqual(latest ?? Date.now() - NOW.getTime());
    expect(instant).toBeGreaterThanOrEqual(latest ?? 0);
  });
});

describe('a client', () => {
  const insertAll = async () => {
    const somebody = await createUser();
    const rows: readonly (readonly [string, Columns])[] = [
      ['own', {}],
      ['elsewhere', { sid: randomUUID() }],
      ['of somebody else', { user_id: somebody, sid: randomUUID() }],
      ['of another client', { client_id: 'another' }],
      ['of another application', { application_id: other }],
    ];
    const names = new Map<string, string>();
    for (const [name, columns] of rows) names.set(await insertGrant({ client_id: CLIENT, ...columns }), name);
    return async () => (await readEnded()).flatMap((each) => names.get(each.split(' ')[1] ?? '') ?? []).sort();
  };

  test.each<[string, of: () => { userId: string | null; sid?: string }, ended: string[]]>([
    ['of all', () => ({ userId: null }), ['elsewhere', 'of somebody else', 'own']],
    ['of one user', () => ({ userId }), ['elsewhere', 'own']],
    ['of one browser', () => ({ userId, sid }), ['own']],
  ])('loses the grants %s', async (_, of, ended) => {
    const read = await insertAll();
    const token = await remember();
    await endGrantsOfClient(call, { applicationId: here, clientId: CLIENT, ...of() });
    expect([await read(), await isRemembered(token), new Set(readTold())]).toEqual([ended, true, new Set([here])]);
  });

  test('is cut off by the latest of its sign-ins in a browser', async () => {
    for (const ms of [-HOUR, -1, -2]) await insertGrant({ client_id: CLIENT, authenticated_at: at(ms) });
    await endGrantsOfClient(call, { applicationId: here, clientId: CLIENT, userId });
    expect(await cutoffsOf(sid)).toEqual([{ cutoff_at: at(-1) }]);
  });

  test.each<[string, of: () => { userId: string | null }, left: string[]]>([
    ['of all', () => ({ userId: null }), ['another', 'elsewhere']],
    ['of one user', () => ({ userId }), ['another', 'elsewhere', 'somebody']],
  ])('loses the consents and grants %s', async (_, of, left) => {
    const read = await insertAll();
    const consents: readonly Columns[] = [
      { client_name: 'own' },
      { client_name: 'somebody', user_id: randomUUID() },
      { client_name: 'another', client_id: 'another' },
      { client_name: 'elsewhere', application_id: other },
    ];
    const given = { application_id: here, user_id: userId, client_id: CLIENT };
    for (const columns of consents) await insert('consents', { ...given, ...columns });
    await endClient(call, { applicationId: here, clientId: CLIENT, ...of() });
    expect((await read()).includes('own')).toBe(true);
    const names = await sql`select client_name from consents where application_id in (${here}, ${other}) order by 1`;
    expect(names.map((row) => row.client_name)).toEqual(left);
  });
});

test('a login has the resources of its live grants alone', async () => {
  const rows: readonly Columns[] = [
    {},
    { expires_at: NOW },
    { sid: randomUUID() },
    { user_id: randomUUID() },
    { client_id: 'another' },
  ];
  const ids: string[] = [];
  for (const columns of rows) {
    const id = await createApplication();
    ids.push(id);
    await insertGrant({ application_id: id, client_id: CLIENT, ...columns });
  }
  expect(await findResourcesOfLogin(call, { clientId: CLIENT, userId, sid })).toEqual(ids.slice(0, 1));
});
