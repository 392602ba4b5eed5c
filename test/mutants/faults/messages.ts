import type { Fault } from '../fault.ts';

const feeds = 'test/modules/messages/message-feeds.test.ts';
const messages = 'test/modules/messages/messages.test.ts';

/** The feeds of applications. */
export const MESSAGE_FAULTS: readonly Fault[] = [
  {
    what: 'A message has its position from its insert, so that a late commit is skipped',
    file: 'src/domain/outbox/message-feed.ts',
    find: `next_position = next_position + (select count(*) from placed)
    where application_id = \${p.uuid('applicationId')} and is_active
    returning next_position - (select count(*) from placed) as first
  ), positions as (
    insert into feed_positions (application_id, position, message_id, type, created_at)
    select \${p.uuid('applicationId')}, feed.first + placed.place - 1,`,
    replace: `next_position = greatest(next_position, (select max(id) + 1 from placed))
    where application_id = \${p.uuid('applicationId')} and is_active
    returning next_position
  ), positions as (
    insert into feed_positions (application_id, position, message_id, type, created_at)
    select \${p.uuid('applicationId')}, placed.id,`,
    test: messages,
    title: /^ListMessages skips no message that commits after later ones/,
  },
  {
    what: 'A cursor is the ID of a message, so that a late commit is skipped',
    file: 'src/modules/messages/domain/read-messages.ts',
    find: 'placed.position > ${after} and',
    replace: 'm.id > ${after} and',
    test: messages,
    title: /^ListMessages skips no message that commits after later ones/,
  },
  {
    what: 'A call passes only a few places of erased users',
    file: 'src/modules/messages/domain/read-messages.ts',
    find: '&& positions < MAX_POSITIONS',
    replace: '&& positions < 1',
    test: messages,
    title: /^ListMessages passes the places of erased users/,
  },
  {
    what: 'A feed with types skips messages whose places have no type',
    file: 'src/modules/messages/domain/read-messages.ts',
    find: 'where without = ${maxPositions}',
    replace: 'where without < 0',
    test: messages,
    title: /^ListMessages passes some thousand messages a call/,
  },
  {
    what: 'A cursor of another application is valid',
    file: 'src/modules/messages/domain/feed-cursor.ts',
    find: "const scopeOf = (applicationId: string) => ['messages', applicationId];",
    replace: "const scopeOf = (applicationId: string) => ['messages', applicationId.slice(0, 0)];",
    test: messages,
    title: /^ListMessages refuses a cursor of another application/,
  },
  {
    what: 'A cursor before the oldest kept message skips silently',
    file: 'src/modules/messages/domain/read-messages.ts',
    find: ' && from.position >= start',
    replace: '',
    test: messages,
    title: /^ListMessages refuses a cursor of another application/,
  },
  {
    what: 'A feed that is turned on again keeps its cursors',
    file: 'src/domain/outbox/message-feed.ts',
    find: 'do update set epoch = excluded.epoch, is_active = true',
    replace: 'do update set is_active = true',
    test: messages,
    title: /^ListMessages is refused while the feed is off/,
  },
  {
    what: 'A watch goes on with a revoked key',
    file: 'src/modules/messages/domain/watch-messages.ts',
    find: 'await requireKey();',
    replace: '',
    test: messages,
    title: /^a watch ends when its key is revoked/,
  },
  {
    what: 'An application opens as many watches as it likes',
    file: 'src/modules/messages/domain/message-feeds.ts',
    find: 'watched.count >= MAX_PER_APPLICATION || ',
    replace: '',
    test: messages,
    title: /^WatchMessages over gRPC refuses a caller without a valid key/,
  },
  {
    what: 'The feed gets deliveries of its own',
    file: 'src/delivery/fan-out.ts',
    find: "        and url <> ''\n",
    replace: '',
    test: messages,
    title: /^ListMessages gives a feed no deliveries/,
  },
  {
    what: 'Streams that open put the poll for messages off',
    file: 'src/modules/messages/domain/message-feeds.ts',
    find: '    if (this.#dueAt <= dueAt) return;\n',
    replace: '',
    test: feeds,
    title: /^streams that open all the time put no poll off/,
  },
  {
    what: 'A busy feed is polled as seldom as a quiet one',
    file: 'src/modules/messages/domain/message-feeds.ts',
    find: 'hasChanged ? BUSY_POLL_MS : POLL_MS',
    replace: 'POLL_MS',
    test: feeds,
    title: /^a feed that goes on is polled more often/,
  },
];
