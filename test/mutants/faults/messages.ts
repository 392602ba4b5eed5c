import type { Fault } from '../fault.ts';

const messages = 'test/contract/messages.test.ts';

/** The feeds of applications. */
export const MESSAGE_FAULTS: readonly Fault[] = [
  {
    what: 'Messages are placed by their IDs, so that a late commit is skipped',
    file: 'src/domain/outbox/message-feed.ts',
    find: 'feed.first + placed.place - 1, placed.id,',
    replace: 'placed.id, placed.id,',
    test: 'test/delivery/message-feed.test.ts',
    title: /^a message that commits after a later one has its place after it/,
  },
  {
    what: 'A cursor of another application is valid',
    file: 'src/domain/messages/feed-cursor.ts',
    find: "const scopeOf = (applicationId: string) => ['messages', applicationId];",
    replace: "const scopeOf = (applicationId: string) => ['messages', applicationId.slice(0, 0)];",
    test: messages,
    title: /^ListMessages refuses a cursor of another application/,
  },
  {
    what: 'A cursor before the oldest kept message skips silently',
    file: 'src/domain/messages/read-messages.ts',
    find: ' && cursor.position >= start',
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
    file: 'src/domain/messages/watch-messages.ts',
    find: 'await requireKey();',
    replace: '',
    test: messages,
    title: /^a watch ends when its key is revoked/,
  },
  {
    what: 'An application opens as many watches as it likes',
    file: 'src/domain/messages/message-feeds.ts',
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
];
