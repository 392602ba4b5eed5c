/** Each condition of reading a message feed, a row each. What callers get: test/integration/contract/messages.test.ts. */
import { beforeEach, describe, expect, test } from 'vitest';
import { readEnd, readMessages } from '../../../../src/domain/messages/read-messages.ts';
import { NOW, openDomain, reason } from '../../../support/domain-scene.ts';

const { sql, callOf, createApplication } = await openDomain();
const EPOCH = '00000000-0000-4000-8000-000000000001';

let here: string;
beforeEach(async () => {
  here = await createFeed();
});

async function createFeed(): Promise<string> {
  const application_id = await createApplication();
  await sql`insert into message_feeds ${sql({ application_id, epoch: EPOCH, next_position: 1, is_active: true })}`;
  return application_id;
}

/**
 * Gives the feed places after those that it has, whose messages are erased unless they are named.
 *
 * @param messages the IDs of messages by their place
 */
async function addPlaces(id: string, count: number, type: string, messages: Record<number, number> = {}) {
  const [feed] = await sql`
    update message_feeds set next_position = next_position + ${count} where application_id = ${id}
    returning (next_position - ${count})::int as first`;
  const places = Array.from({ length: count }, (_, n) => Number(feed?.first) + n).map((position) => {
    const message_id = messages[position] ?? 1_000_000 + position;
    return { application_id: id, position, message_id, type, created_at: NOW };
  });
  await sql`insert into feed_positions ${sql(places)}`;
  for (const [place, message] of Object.entries(messages)) {
    const payload = JSON.stringify({
      type,
      timestamp: NOW,
      data: { in: id, at: Number(place) },
    });
    await sql`
      insert into webhook_messages (application_id, id, type, payload, created_at) overriding system value
      values (${id}, ${message}, ${type}, ${payload}, ${NOW})`;
  }
}

const read = async (after: number | undefined, types: string[] = []) => {
  const cursor = after === undefined ? undefined : { epoch: EPOCH, position: after };
  const page = await readMessages(callOf(here), cursor, { types: types as never, size: 100 });
  return { at: page.messages.map(({ data }) => data), cursor: page.cursor.position, isFull: page.isFull };
};

test('one call passes 2,000 places of erased users, and says that there are more', async () => {
  await addPlaces(here, 2_150, 'event.created');
  expect(await read(undefined)).toEqual({ at: [], cursor: 2_000, isFull: true });
  expect(await read(2_000)).toEqual({ at: [], cursor: 2_150, isFull: false });
});

describe.each<[string, types: string[]]>([
  ['of all types', []],
  ['of one type', ['event.created']],
])('messages %s', (_, types) => {
  test('leave the cursor at the end once there are no more', async () => {
    await addPlaces(here, 3, 'event.created', { 2: 7 });
    await addPlaces(here, 5, 'event.deleted');
    expect(await read(0, types)).toEqual({ at: [{ in: here, at: 2 }], cursor: 8, isFull: false });
    expect(await read(8, types)).toEqual({ at: [], cursor: 8, isFull: false });
  });

  test('are those of the own application alone, also where another has messages of the same IDs', async () => {
    const elsewhere = await createFeed();
    await addPlaces(elsewhere, 4, 'event.created', { 1: 11, 2: 12, 3: 13, 4: 14 });
    await addPlaces(here, 4, 'event.created', { 2: 11, 3: 14 });
    const expected = [2, 3].map((at) => ({ in: here, at }));
    expect(await read(0, types)).toEqual({ at: expected, cursor: 4, isFull: false });
  });
});

test('a cursor before messages that have all expired is refused, and the oldest message is then the next', async () => {
  await addPlaces(here, 4, 'event.created');
  await sql`delete from feed_positions where application_id = ${here}`;
  expect(await reason(read(3))).toBe('CURSOR_EXPIRED');
  expect(await read(undefined)).toEqual({ at: [], cursor: 4, isFull: false });
  expect(await read(4)).toEqual({ at: [], cursor: 4, isFull: false });
});

test('a feed that was turned off has no end to begin at', async () => {
  await addPlaces(here, 2, 'event.created');
  expect((await readEnd(callOf(here))).cursor).toEqual({ epoch: EPOCH, position: 2 });
  await sql`update message_feeds set is_active = false where application_id = ${here}`;
  expect(await reason(readEnd(callOf(here)))).toBe('MESSAGE_FEED_OFF');
});
