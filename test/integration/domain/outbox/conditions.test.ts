/** Each condition of who is told of what, a row each. */
import { randomUUID } from 'node:crypto';
import { type SQL, sql as text } from 'drizzle-orm';
import { beforeEach, describe, expect, test } from 'vitest';
import { p, statement } from '../../../../src/database/sql/template.ts';
import {
  HAS_MESSAGES,
  hasSubscriberToAny,
  type Message,
  messagesOf,
  notified,
} from '../../../../src/domain/outbox/insert-message.ts';
import { storeLogoutEndpoint } from '../../../../src/domain/outbox/logout-endpoint.ts';
import {
  HERE,
  loggedOut,
  loggedOutEverywhere,
  loggedOutIfKnown,
  loggedOutOfBrowsers,
  loggedOutOfSessions,
} from '../../../../src/domain/outbox/logout-message.ts';
import { storeMessageFeed, storePositions } from '../../../../src/domain/outbox/message-feed.ts';
import { sessionsRevoked, userJoined, userMessage } from '../../../../src/domain/outbox/user-messages.ts';
import { wakeQueues } from '../../../../src/domain/outbox/wake-queue.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createUser, createApplication } = await openDomain();
const URI = 'https://app.test/logout';

type Columns = Readonly<Record<string, unknown>>;

let here: string;
let elsewhere: string;
let client: string;
let userId: string;
let stranger: string;
beforeEach(async () => {
  const told = { open_id_connect: true, backchannel_logout_uri: URI };
  const ofClient = { client_id: `client-${randomUUID()}`, ...told };
  [here, elsewhere, client] = [
    await createApplication(told),
    await createApplication(told),
    await createApplication(ofClient),
  ];
  [userId, stranger] = [await createUser(), await createUser()];
});

const setApplication = (columns: Columns, id = here) =>
  sql`update applications set ${sql(columns as never)} where id = ${id}`;
const subscribe = (columns: Columns = {}) => insert('webhooks', { application_id: here, ...columns });
const addEndpoint = (application_id = here, columns: Columns = {}) =>
  subscribe({ application_id, id: `logout_${application_id}`, event_types: ['logout'], ...columns });
const addGrant = (columns: Columns = {}) =>
  insert('oidc_grants', { application_id: here, user_id: userId, ...columns });
const clientIdOf = async (id: string) => (await sql`select client_id from applications where id = ${id}`)[0]?.client_id;

/** Inserts the messages, in a statement with the columns of a person or a session in the CTE `given`. */
async function tell(
  messages: readonly Message[],
  columns = text`${p.uuid('userId')} as id, ${p.uuid('userId')} as user_id`,
) {
  const insertMessages = statement(`tell_${randomUUID()}`, HAS_MESSAGES)`
    with given as (select ${columns}, ${p.uuid('applicationId')} as application_id), ${messagesOf(...messages)}
    select ${notified} where ${p.instant('now')}::timestamptz is not null`;
  await callAt().run(insertMessages, { applicationId: here, userId, now: NOW });
}
const readData = async (application: string) => {
  const rows = await sql`select payload from webhook_messages where application_id = ${application}`;
  return rows
    .map(({ payload }) => JSON.parse(payload).data)
    .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
};
const given = text`given`;

describe('a webhook', () => {
  const created: Message = { type: 'event.created', data: text`json_build_object('n', 1)`, from: given };

  test.each<[string, columns: () => Columns, isTold: boolean]>([
    ['of the type', () => ({ event_types: ['event.created'] }), true],
    ['of all types', () => ({}), true],
    ['of the type and others', () => ({ event_types: ['a', 'event.created'] }), true],
    ['of another type', () => ({ event_types: ['event.updated'] }), false],
    ['of none', () => ({ event_types: [] }), false],
    ['that is inactive', () => ({ is_active: false }), false],
    ['of another application', () => ({ application_id: elsewhere }), false],
  ])('%s', async (_, columns, isTold) => {
    await subscribe(columns());
    await tell([created]);
    await tell([{ ...created, applicationId: text`${p.uuid('applicationId')}` }]);
    expect(await readData(here)).toHaveLength(isTold ? 2 : 0);
    const asked = statement(`asked_${randomUUID()}`, {})`
      select where ${hasSubscriberToAny(['event.created', 'event.deleted'], p.uuid('applicationId'))}`;
    expect(await callAt().run(asked, { applicationId: here })).toHaveLength(isTold ? 1 : 0);
  });

  test('gets one message, however many others there are', async () => {
    for (let count = 0; count < 3; count++) await subscribe();
    await tell([created, { ...created, applicationId: text`${p.uuid('applicationId')}` }]);
    expect(await readData(here)).toHaveLength(2);
  });

  test('of all types learns of no logout', async () => {
    await subscribe();
    await tell(loggedOut(given));
    expect(await readData(here)).toEqual([]);
  });
});

describe('a logout', () => {
  const SID = randomUUID();
  const ofUser = async (of = here) => ({ sub: userId, aud: await clientIdOf(of) });

  test.each<[string, prepare: () => Promise<unknown>, users: boolean, sids: boolean]>([
    ['of a user', async () => {}, true, false],
    ['of a browser', () => addGrant({ sid: SID }), true, true],
    ['of a browser twice', async () => [await addGrant({ sid: SID }), await addGrant({ sid: SID })], true, true],
    ['of a grant that has expired', () => addGrant({ sid: SID, expires_at: NOW }), true, false],
    ['of one that expires next', () => addGrant({ sid: SID, expires_at: at(1) }), true, true],
    ['beside a grant of somebody else', () => addGrant({ sid: SID, user_id: stranger }), true, false],
    ['beside a grant elsewhere', () => addGrant({ sid: SID, application_id: elsewhere }), true, false],
    ['of an application that is gone', () => setApplication({ deleted_at: NOW }), false, false],
    ['without OpenID Connect', () => setApplication({ open_id_connect: false }), false, false],
    ['without an address', () => setApplication({ backchannel_logout_uri: null }), false, false],
    ['with endpoints elsewhere', () => sql`delete from webhooks where application_id = ${here}`, false, false],
    [
      'with its endpoint elsewhere',
      async () => {
        await sql`delete from webhooks where application_id = ${here}`;
        await addEndpoint(elsewhere, { id: `logout_${here}` });
      },
      false,
      false,
    ],
    [
      'with a webhook of that type in place of the endpoint',
      () => sql`update webhooks set id = ${randomUUID()} where application_id = ${here}`,
      false,
      false,
    ],
    [
      'with an endpoint that is disabled',
      () => sql`update webhooks set is_active = false where application_id = ${here}`,
      false,
      false,
    ],
  ])('%s', async (_, prepare, users, sids) => {
    await addEndpoint();
    await addEndpoint(elsewhere);
    await addEndpoint(client);
    await prepare();
    await tell(loggedOut(given));
    const expected = [...(sids ? [{ ...(await ofUser()), sid: SID }] : []), ...(users ? [await ofUser()] : [])];
    expect(await readData(here)).toEqual(expected.sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))));
    expect([await readData(elsewhere), await readData(client)]).toEqual([[], []]);
  });

  test('of two users is told of each', async () => {
    await addEndpoint();
    await tell(loggedOut(given), text`unnest(array[${p.uuid('userId')}, gen_random_uuid()]) as user_id`);
    expect(await readData(here)).toHaveLength(2);
  });

  test.each<[string, application: Columns, grant: Columns, where: object, isTold: boolean]>([
    ['is told', {}, {}, {}, true],
    ['is told by no statement that stays here', {}, {}, HERE, false],
    ['is not told once it is gone', { deleted_at: NOW }, {}, {}, false],
    ['is not told without OpenID Connect', { open_id_connect: false }, {}, {}, false],
    ['is not told without an address', { backchannel_logout_uri: null }, {}, {}, false],
    ['is not told of a grant that has expired', {}, { expires_at: NOW }, {}, false],
    ['is not told of a grant of another client', {}, { client_id: 'https://other.test' }, {}, false],
    ['is not told of a grant of the application', {}, { client_id: null }, {}, false],
  ])('a client of the resource %s', async (_, application, grant, where, isTold) => {
    await setApplication({ deleted_at: null, ...application }, client);
    await addEndpoint(client);
    await addGrant({ sid: SID, client_id: await clientIdOf(client), ...grant });
    await tell(loggedOut(given, where));
    expect(await readData(client)).toEqual(isTold ? [{ ...(await ofUser(client)), sid: SID }] : []);
    await tell(loggedOutOfBrowsers(text`oidc_grants`));
    const isNamed = !('expires_at' in grant) && (isTold || where === HERE);
    if (!('expires_at' in grant)) expect(await readData(client)).toHaveLength(Number(isTold) + Number(isNamed));
    await sql`delete from oidc_grants`;
  });

  test.each<[string, columns: () => Columns, isKnown: boolean]>([
    ['who has signed in', () => ({}), true],
    ['who has signed in elsewhere', () => ({ application_id: elsewhere }), false],
    ['beside one who has', () => ({ user_id: stranger }), false],
  ])('of a user %s', async (_, columns, isKnown) => {
    await addEndpoint();
    await addEndpoint(elsewhere);
    const row = { application_id: here, user_id: userId, ...columns() };
    await insert('application_users', row);
    await tell(loggedOutIfKnown(given));
    expect(await readData(here)).toEqual(isKnown ? [await ofUser()] : []);
    await tell(loggedOutEverywhere(given));
    const counts = [await readData(here), await readData(elsewhere)].map(({ length }) => length);
    const isMine = row.user_id === userId;
    expect(counts).toEqual([isKnown ? 2 : 0, isMine && !isKnown ? 1 : 0]);
    await tell(loggedOutOfSessions(given));
    expect(await readData(here)).toHaveLength(isKnown ? 3 : 1);
  });
});

describe('a message about a user', () => {
  const joined = (isNew: boolean, of = text`user_id`) =>
    userJoined(
      text`(select given.*, '' as email, '' as name, '' as profile_image, '' as wallet_address from given)`,
      text`(select ${of} as user_id, ${text.raw(String(isNew))} as is_new from given)`,
    );

  test.each<[string, isNew: boolean, of: SQL | undefined, added: (() => Columns) | undefined, isTold: boolean]>([
    ['is sent of a new one', true, undefined, undefined, true],
    ['is not sent of a known one', false, undefined, undefined, false],
    ['is not sent of another', true, text`gen_random_uuid()`, undefined, false],
    ['is not sent again of one who was added', true, undefined, () => ({}), false],
    ['is sent of one who was added elsewhere', true, undefined, () => ({ application_id: elsewhere }), true],
    ['is sent beside one who was added', true, undefined, () => ({ user_id: stranger }), true],
  ])('%s', async (_, isNew, of, added, isTold) => {
    await subscribe();
    if (added) await insert('added_users', { application_id: here, user_id: userId, ...added() });
    await tell([joined(isNew, of)]);
    expect(await readData(here)).toHaveLength(isTold ? 1 : 0);
  });

  test.each<[string, prepare: () => Promise<unknown>, isTold: boolean]>([
    ['goes to the application', async () => {}, true],
    ['goes to none that is gone', () => setApplication({ deleted_at: NOW }), false],
    [
      'goes to none of others',
      () => sql`update application_users set user_id = ${stranger} where user_id = ${userId}`,
      false,
    ],
  ])('%s', async (_, prepare, isTold) => {
    await subscribe();
    await subscribe({ application_id: elsewhere });
    await insert('application_users', { application_id: here, user_id: userId });
    await prepare();
    await tell([userMessage('user.updated', text`(select users.* from users join given on given.id = users.id)`)]);
    expect([await readData(here), await readData(elsewhere)].map(({ length }) => length)).toEqual([isTold ? 1 : 0, 0]);
  });

  test.each<[string, application: Columns, isSubscribed: boolean, seconds: number, isTold: boolean]>([
    ['of a session that lives', {}, true, 1, true],
    ['of one that ends now', {}, true, 0, false],
    ['of one that could be renewed', { session_idle_seconds: 3_600 }, true, -3_599, true],
    ['of one that could not', { session_idle_seconds: 3_600 }, true, -3_600, false],
    ['of an application that is gone', { deleted_at: NOW }, true, 1, false],
    ['of an application that does not ask', {}, false, 1, false],
  ])('%s', async (_, application, isSubscribed, seconds, isTold) => {
    if (isSubscribed) await subscribe();
    await setApplication({ deleted_at: null, ...application });
    const ends = text.raw(`'${at(seconds * 1_000).toISOString()}'::timestamptz`);
    const columns = text`${p.uuid('userId')} as user_id, ${ends} as expires_at`;
    await tell([sessionsRevoked(given)], columns);
    expect(await readData(here)).toHaveLength(isTold ? 1 : 0);
  });
});

describe('a queue', () => {
  const lease = randomUUID();
  const wake = (isUrgent: boolean) =>
    statement(`wake_${randomUUID()}`, {})`
      with deliveries as (select unnest(array['a', 'a', 'b']) as webhook_id), ${wakeQueues(text`deliveries`, { isUrgent })}
      select`;

  test.each<[string, before: Columns | undefined, isUrgent: boolean, after: Columns]>([
    ['that is new', undefined, false, { next_at: NOW, wake_count: '1', is_urgent: false }],
    ['that is new and urgent', undefined, true, { next_at: NOW, wake_count: '1', is_urgent: true }],
    ['that is idle', {}, false, { next_at: NOW, wake_count: '6', is_urgent: false }],
    ['that waits', { next_at: at(HOUR) }, false, { next_at: NOW, wake_count: '6' }],
    ['that is due', { next_at: at(-HOUR) }, false, { next_at: at(-HOUR), wake_count: '6' }],
    ['that fails', { failed_batches: 1, next_at: at(HOUR) }, false, { next_at: at(HOUR), wake_count: '6' }],
    ['that fails, urgently', { failed_batches: 1, next_at: at(HOUR) }, true, { next_at: NOW, is_urgent: true }],
    ['that has failed and is idle', { failed_batches: 1 }, false, { next_at: NOW }],
    ['that somebody has', { lease, next_at: at(HOUR) }, true, { next_at: at(HOUR), wake_count: '6', is_urgent: true }],
    ['that was urgent', { is_urgent: true }, false, { is_urgent: true }],
  ])('%s', async (_, before, isUrgent, after) => {
    if (before) await insert('webhook_queues', { application_id: here, webhook_id: 'a', wake_count: 5, ...before });
    await insert('webhook_queues', { application_id: elsewhere, webhook_id: 'a', wake_count: 9 });
    await callAt().run(wake(isUrgent), { applicationId: here, now: NOW });
    const read = async (id: string, of: string) =>
      (await sql`select * from webhook_queues where application_id = ${of} and webhook_id = ${id}`)[0];
    expect(await read('a', here)).toMatchObject(after);
    expect(await read('b', here)).toMatchObject({ next_at: NOW, wake_count: '1' });
    expect(await read('a', elsewhere)).toMatchObject({ next_at: null, wake_count: '9' });
  });
});

describe('what an application stores', () => {
  const store = async (ctes: SQL, columns: SQL) => {
    const change = statement(`store_${randomUUID()}`, {})`with given as (select ${columns}), ${ctes} select`;
    await callAt().run(change, { applicationId: here, now: NOW, feedEpoch: randomUUID() } as never);
  };
  const readWebhooks = (of: string) => sql`
    select id, url, is_active, updated_at from webhooks where application_id = ${of} order by id`;

  test.each<[string, before: Columns | undefined, url: string | null, after: Columns | undefined, isWoken: boolean]>([
    ['a new endpoint', undefined, URI, { url: URI, updated_at: NOW }, true],
    ['the same endpoint', { url: URI }, URI, { url: URI, updated_at: at(-DAY) }, false],
    ['another endpoint', { url: 'https://old.test' }, URI, { url: URI, updated_at: NOW }, true],
    [
      'a disabled endpoint again',
      { url: URI, is_active: false },
      URI,
      { url: URI, is_active: true, updated_at: NOW },
      true,
    ],
    ['no endpoint', { url: URI }, null, undefined, false],
    ['none again', undefined, null, undefined, false],
  ])('%s', async (_, before, url, after, isWoken) => {
    const other = await subscribe();
    if (before) await addEndpoint(here, before);
    await addEndpoint(elsewhere, { id: `logout_${here}` });
    await store(storeLogoutEndpoint(given), text`${url}::text as url`);
    const [, ...none] = await readWebhooks(here);
    const found = (await readWebhooks(here)).filter(({ id }) => id !== other.id);
    expect(found).toMatchObject(after ? [{ id: `logout_${here}`, ...after }] : []);
    expect(none).toHaveLength(after ? 1 : 0);
    expect((await readWebhooks(here)).map(({ id }) => id)).toContain(other.id);
    expect(await readWebhooks(elsewhere)).toHaveLength(1);
    expect(await sql`select from webhook_queues where application_id = ${here}`).toHaveLength(isWoken ? 1 : 0);
  });

  test('a feed, which begins anew after it was off', async () => {
    const set = (isOn: boolean) =>
      store(storeMessageFeed(p.uuid('applicationId'), given), text.raw(`${isOn} as message_feed`) as SQL);
    const read = async () => (await sql`select * from message_feeds where application_id = ${here}`)[0];
    await subscribe();
    await subscribe({ application_id: elsewhere, id: `feed_${here}` });
    await sql`insert into message_feeds (application_id, epoch, next_position, is_active)
      values (${elsewhere}, ${randomUUID()}, 1, true)`;
    await set(false);
    expect(await read()).toBeUndefined();
    await set(true);
    const first = await read();
    expect(first).toMatchObject({ is_active: true, next_position: '1' });
    await sql`update message_feeds set next_position = 7 where application_id = ${here}`;
    await set(true);
    expect(await read()).toMatchObject({ epoch: first?.epoch, next_position: '7', is_active: true });
    expect((await readWebhooks(here)).map(({ id }) => id)).toContain(`feed_${here}`);
    await set(false);
    expect(await read()).toMatchObject({ epoch: first?.epoch, is_active: false });
    expect(await readWebhooks(here)).toHaveLength(1);
    await set(true);
    const last = await read();
    expect(last).toMatchObject({ is_active: true, next_position: '7' });
    expect(last?.epoch).not.toBe(first?.epoch);
    expect(await readWebhooks(elsewhere)).toHaveLength(1);
    expect(await sql`select is_active from message_feeds where application_id = ${elsewhere}`).toEqual([
      { is_active: true },
    ]);
  });
});

test.each([
  ['that is on', true, [7, 8, 9, 10]],
  ['that is off', false, []],
])('messages get the next places of a feed %s, and of no other', async (_, is_active, positions) => {
  for (const application_id of [elsewhere, here]) {
    const feed = { application_id, epoch: randomUUID(), next_position: 7, is_active };
    await sql`insert into message_feeds ${sql(feed)}`;
  }
  const place = statement(`place_${randomUUID()}`, {})`
    with placed as (
      select n as id, 'event.created' as type, ${p.instant('now')} as created_at, n as place from generate_series(1, 2) n
    ), ${storePositions} select`;
  for (let time = 0; time < 2; time++) await callAt().run(place, { applicationId: here, now: NOW });
  const read = async (of: string) => [
    (await sql`select position from feed_positions where application_id = ${of} order by position`).map((row) =>
      Number(row.position),
    ),
    (await sql`select next_position from message_feeds where application_id = ${of}`)[0]?.next_position,
  ];
  expect([await read(here), await read(elsewhere)]).toEqual([
    [positions, is_active ? '11' : '7'],
    [[], '7'],
  ]);
});
