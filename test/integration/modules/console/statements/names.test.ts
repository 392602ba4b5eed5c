/** Conditions of what the console finds by name, and of the lists of an event or an application, a row each. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { PageTokens } from '../../../../../src/domain/pages/list.ts';
import { listAddedUsers } from '../../../../../src/modules/console/statements/added-users.ts';
import { findAttendees, listRefusals, readDoorFigures } from '../../../../../src/modules/console/statements/events.ts';
import { findNamed } from '../../../../../src/modules/console/statements/named.ts';
import { at, DAY, HOUR, NOW, openDomain, reason } from '../../../../support/domain-scene.ts';

const { sql, insert, callAt, callOf, createApplication, createUser } = await openDomain();
const tokens = new PageTokens([randomBytes(32)]);

type Columns = Readonly<Record<string, unknown>>;

let here: string;
let other: string;
beforeEach(async () => {
  [here, other] = [await createApplication(), await createApplication()];
});

describe('what begins with a text', () => {
  const find = async (typed: string) =>
    (await findNamed(callAt(), typed)).map(({ kind, name, detail }) => `${kind} ${name} ${detail}`);
  let name: string;
  beforeEach(() => {
    name = `n${randomUUID()}`;
  });
  const addUser = (given: string | null, email = `${randomUUID()}@example.com`, columns: Columns = {}) =>
    createUser({ name: given, email, ...columns });

  test('is a person by name or by address, an application by name, and a group by its whole name, in this order', async () => {
    await addUser(`${name}a`, `${name}1@example.com`);
    await addUser(null, `${name}b@example.com`);
    await addUser('Grace', `${name}2@example.com`);
    await addUser(name, `x${name}@example.com`);
    await createApplication({ name: `${name} shop`, redirect_uris: ['https://shop.test/'] });
    await insert('groups', { name, display_name: null });
    expect(await find(name.toUpperCase())).toEqual([
      ...[`application ${name} shop https://shop.test/`, `user Grace ${name}2@example.com`],
      ...[`user ${name} x${name}@example.com`, `user ${name}a ${name}1@example.com`],
      `user ${name}b@example.com ${name}b@example.com`,
    ]);
    expect(await find(name)).toContain(`group ${name} `);
  });

  test.each<[string, prepare: (name: string) => Promise<unknown>]>([
    ['a person who is deleted, by name', (of) => addUser(of, undefined, { deleted_at: NOW })],
    ['a person who is deleted, by address', (of) => addUser(null, `${of}@example.com`, { deleted_at: NOW })],
    ['a deleted application', (of) => createApplication({ name: of, deleted_at: NOW })],
    ['a deleted group', (of) => insert('groups', { name: of, deleted_at: NOW })],
    ['a group of another name', (of) => insert('groups', { name: `${of}s` })],
    ['a person whose name comes before', (of) => addUser(of.slice(1))],
    ['a person whose name comes after', (of) => addUser(`o${of}`)],
    ['a person whose address comes before', (of) => addUser(null, `a${of}@example.com`)],
    ['a person whose address comes after', (of) => addUser(null, `o${of}@example.com`)],
    ['an application whose name comes before', (of) => createApplication({ name: `a${of}` })],
    ['an application whose name comes after', (of) => createApplication({ name: `o${of}` })],
  ])('is not %s', async (_, prepare) => {
    await prepare(name);
    expect(await find(name)).toEqual([]);
  });

  test('has the display name of a group, and two people of one name in the order of their IDs', async () => {
    await insert('groups', { name, display_name: 'Editors' });
    const ids = [randomUUID(), randomUUID(), randomUUID()];
    for (const id of ids) await addUser(name, undefined, { id });
    const found = await findNamed(callAt(), name);
    expect(found.map(({ kind, id, detail }) => (kind === 'group' ? detail : id))).toEqual(['Editors', ...ids.sort()]);
  });

  test.each<[string, add: (text: string) => Promise<unknown>]>([
    ['people by name', (text) => addUser(text)],
    ['people by address', (text) => addUser(null, text)],
    ['applications', (text) => createApplication({ name: text })],
  ])('is the first ten of all %s', async (_, add) => {
    for (let at = 19; at >= 8; at--) await add(`${name} ${String(at).padStart(2, '0')}`);
    const names = (await findNamed(callAt(), name)).map((found) => found.name.slice(-2));
    expect(names).toEqual(['08', '09', '10', '11', '12', '13', '14', '15', '16', '17']);
  });
});

describe('people who were let in by name', () => {
  const list = async () => (await listAddedUsers(callOf(here), tokens, {})).rows;

  test.each<
    [string, prepare: (ids: { here: string; other: string; user: string; stranger: string }) => unknown, Columns]
  >([
    ['without an invitation or a sign-in', () => undefined, {}],
    ['by an open invitation', ({ here, user }) => invite(here, user), { isInvited: true }],
    ['and not by an accepted one', ({ here, user }) => invite(here, user, { accepted_at: NOW }), {}],
    ['and not by one that has let nobody in', ({ here, user }) => invite(here, user, { added_user: false }), {}],
    ['and not by one to another application', ({ other, user }) => invite(other, user), {}],
    ['and not by one of somebody else', ({ here, stranger }) => invite(here, stranger), {}],
    ['and have signed in', ({ here, user }) => signIn(here, user), { lastSignedInAt: at(-DAY) }],
    ['and have signed in to another application', ({ other, user }) => signIn(other, user), {}],
    ['while somebody else has signed in', ({ here, stranger }) => signIn(here, stranger), {}],
  ])('%s', async (_, prepare, shown) => {
    const [user, stranger] = [await createUser({ name: 'Ada' }), await createUser()];
    await insert('added_users', { application_id: here, user_id: user });
    await insert('added_users', { application_id: other, user_id: stranger });
    await prepare({ here, other, user, stranger });
    const nothing = { isInvited: false, lastSignedInAt: null };
    expect(await list()).toMatchObject([{ id: user, name: 'Ada', addedAt: at(-DAY), ...nothing, ...shown }]);
  });

  test('are no longer there once they are deleted', async () => {
    await insert('added_users', { application_id: here, user_id: await createUser({ deleted_at: NOW }) });
    expect(await list()).toEqual([]);
  });

  const invite = (application_id: string, user_id: string, columns: Columns = {}) =>
    insert('invitations', { application_id, user_id, added_user: true, ...columns });
  const signIn = (application_id: string, user_id: string) => insert('application_users', { application_id, user_id });
});

/** Creates two events of the application, and one of the same ID in another. */
async function openEvent(columns: Columns = {}) {
  const [id, another] = [randomUUID(), randomUUID()];
  const mine = { application_id: here, event_id: id };
  const elsewhere = [
    { application_id: here, event_id: another },
    { application_id: other, event_id: id },
  ];
  await insert('events', { application_id: here, id, ...columns });
  for (const { application_id, event_id } of elsewhere) await insert('events', { application_id, id: event_id });
  return { id, mine, elsewhere };
}

describe('the figures of an event', () => {
  const read = (id: string) => readDoorFigures(callOf(here), id);
  const fill = (id: string, count: number) => sql`
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
    select ${here}, ${id}, 'guest ' || n, ${NOW} from generate_series(1, ${count}::int) n`;
  const secondsOf = (ms: number) => Math.floor(at(ms).getTime() / 1_000);

  test('are of this event alone, and of attendees who are still listed', async () => {
    const { id, mine, elsewhere } = await openEvent();
    for (const ids of [mine, ...elsewhere]) {
      await insert('check_ins', { ...ids, attendee_id: 'ada', gate: 'North' });
      await insert('attendees', { ...ids, attendee_id: 'ada' });
    }
    await insert('attendees', { ...mine, attendee_id: 'gone', is_deleted: true });
    const drawn = [{ at: Math.floor(secondsOf(-HOUR) / 60) * 60, gate: 'North', count: 1 }];
    expect(await read(id)).toEqual({ checkedIn: 1, isExact: true, listed: 1, barSeconds: 60, drawn });
  });

  test('have the time by the clock of the scanner if it is known, oldest first, and no gate for none', async () => {
    const { id, mine } = await openEvent();
    await insert('check_ins', { ...mine, attendee_id: 'ada' });
    await insert('check_ins', { ...mine, attendee_id: 'grace', occurred_at: at(-HOUR - 120_000), gate: 'South' });
    const { drawn } = await read(id);
    expect(drawn.map(({ gate }) => gate)).toEqual(['South', '']);
    expect((drawn[1]?.at ?? 0) - (drawn[0]?.at ?? 0)).toBe(120);
  });

  test.each([
    [0, 60],
    [40 * 60, 60],
    [40 * 60 + 1, 300],
    [40 * 2_592_000, 2_592_000],
  ])('over %i seconds have bars of %i seconds', async (span, seconds) => {
    const { id, mine } = await openEvent();
    for (const [index, occurred_at] of [NOW, at(-span * 1_000)].entries())
      await insert('check_ins', { ...mine, attendee_id: String(index), occurred_at });
    const { barSeconds, drawn } = await read(id);
    expect({ barSeconds, count: drawn.reduce((sum, { count }) => sum + count, 0) }).toEqual({
      barSeconds: seconds,
      count: 2,
    });
  });

  test('over more time than bars can show are not drawn', async () => {
    const { id, mine } = await openEvent();
    for (const [index, occurred_at] of [NOW, at(-41 * 30 * DAY)].entries())
      await insert('check_ins', { ...mine, attendee_id: String(index), occurred_at });
    expect(await read(id)).toMatchObject({ checkedIn: 2, barSeconds: null, drawn: [] });
  });

  test.each([
    [0, 0, true],
    [4_999, 4_999, true],
    [5_000, 5_000, false],
    [5_001, 5_000, false],
  ])('without a capacity are counted as far as 5,000: %i', async (came, checkedIn, isExact) => {
    const { id } = await openEvent();
    await fill(id, came);
    await sql`
      insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
      select ${here}, ${id}, n, '', false, n, ${NOW} from generate_series(1, ${came}::int) n`;
    expect(await read(id)).toMatchObject({ checkedIn, isExact, listed: checkedIn });
  });

  test('with a capacity are those that the event has counted', async () => {
    const { id } = await openEvent({ capacity: 9_000, checked_in: 7_000 });
    expect(await read(id)).toMatchObject({ checkedIn: 7_000, isExact: true, drawn: [] });
  });

  test('draw the newest 2,000 check-ins, and of those of one instant the last by ID', async () => {
    const { id, mine } = await openEvent();
    await fill(id, 1_999);
    for (const [attendee_id, gate] of [
      ['0', 'Dropped'],
      ['1', 'Kept'],
    ])
      await insert('check_ins', { ...mine, attendee_id, gate });
    const { drawn } = await read(id);
    expect(drawn.map(({ gate, count }) => [gate, count])).toEqual([
      ['Kept', 1],
      ['', 1_999],
    ]);
  });

  test.each<[string, columns: Columns]>([
    ['that is deleted', { deleted_at: NOW }],
    ['of another ID', { id: randomUUID() }],
  ])('of an event %s are not found', async (_, columns) => {
    const { id } = await openEvent(columns);
    expect(await reason(read(id))).toBe('EVENT_NOT_FOUND');
  });
});

describe('attendees who are searched for', () => {
  const find = async (id: string, text: string) =>
    (await findAttendees(callOf(here), id, text)).map((row) => row.attendeeId);

  test('begin with the text in any case, or have this ID, in the order of their names', async () => {
    const { id, mine, elsewhere } = await openEvent();
    const listed = { 'a-1': 'ADA Byron', 'a-2': 'ada', 'a-0': 'Ada', 'a-3': 'Ad', 'a-4': 'Adb', ada: 'Zoë' };
    for (const [attendee_id, label] of Object.entries(listed))
      await insert('attendees', { ...mine, attendee_id, label });
    for (const ids of elsewhere) await insert('attendees', { ...ids, attendee_id: 'elsewhere', label: 'ada' });
    await insert('attendees', { ...mine, attendee_id: 'gone', label: 'ada', is_deleted: true });
    expect(await find(id, 'ada')).toEqual(['a-0', 'a-2', 'a-1', 'ada']);
    expect(await find(id, 'Adb')).toEqual(['a-4']);
    expect(await find(id, 'gone')).toEqual([]);
    expect(await find(id, 'elsewhere')).toEqual([]);
  });

  test('are the first fifty', async () => {
    const { id, mine } = await openEvent();
    for (let index = 52; index > 0; index--)
      await insert('attendees', { ...mine, attendee_id: String(index).padStart(3, '0'), label: 'Guest' });
    await insert('attendees', { ...mine, attendee_id: 'guest', label: 'Zoë' });
    const found = await find(id, 'guest');
    expect(found).toHaveLength(50);
  });
});

test('who was refused is listed for this event, without the scans that were taken', async () => {
  const { id, mine, elsewhere } = await openEvent();
  for (const ids of elsewhere) await insert('scans', { ...ids, reason: 'ATTENDEE_BLOCKED' });
  await insert('scans', { ...mine, attendee_id: 'eve', reason: 'ATTENDEE_BLOCKED' });
  await insert('scans', { ...mine, outcome: 'CHECKED_IN' });
  const { rows } = await listRefusals(callOf(here), tokens, { eventId: id });
  expect(rows.map(({ attendeeId }) => attendeeId)).toEqual(['eve']);
});
