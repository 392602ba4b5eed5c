/** Whatever a server sends, the process goes on, callers get an error that is documented, and the connection is replaced. */
import { describe, expect, test, vi } from 'vitest';
import { Database, DatabaseUnavailableError } from '../../../src/database/pool/database.ts';
import { PostgresError } from '../../../src/database/sql/driver.ts';
import { statement, t } from '../../../src/database/sql/template.ts';
import {
  describeColumns,
  encodeError,
  encodeMessage,
  encodeRow,
  type FakePostgresOptions,
  startFakePostgres,
} from '../../support/fake-postgres.ts';

const selectSeven = statement('select_seven', { seven: t.integer })`select 7 as seven`;
const SEVEN = { seven: 7 };
const TIMEOUT_MS = 5_000;
/** For servers that do not lie. */
const HONEST_TIMEOUT_MS = 60_000;
/** On a busy machine a new connection takes a while. */
const RECOVERY = { timeout: 20_000 };
/** How many tries there are at the same time. */
const BATCH = 100;

/** Sends the statement three times at once. Returns what came of them, once the statement succeeds again. */
async function tryWith(options: FakePostgresOptions, timeoutMs = TIMEOUT_MS): Promise<readonly string[]> {
  await using server = await startFakePostgres(options);
  const database = new Database(server.url, { connections: 1, statementTimeoutMs: timeoutMs });
  try {
    const run = () => database.run(selectSeven, {}, performance.now() + timeoutMs);
    const outcomes = await Promise.all([run(), run(), run()].map(nameOutcome));
    await vi.waitFor(async () => expect(await run()).toEqual([SEVEN]), RECOVERY);
    return outcomes;
  } finally {
    await database.close();
  }
}

async function nameOutcome(rows: Promise<unknown[]>): Promise<string> {
  try {
    for (const row of await rows) expect(row).toEqual(SEVEN);
    return 'rows';
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) return 'unavailable';
    return error instanceof PostgresError ? `refused ${error.code}` : String(error);
  }
}

/** What an honest server sends on the first connection. */
async function recordMessages(isPooler: boolean): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  const tell = (message: Buffer) => {
    messages.push(message);
    return message;
  };
  expect(await tryWith({ isPooler, tell }, HONEST_TIMEOUT_MS)).toEqual(['rows', 'rows', 'rows']);
  return messages;
}

/** One message of each type, and of two types that there are not. */
const LIES: Readonly<Record<string, Buffer>> = {
  R: encodeMessage('R', '\0\0\0\0'),
  K: encodeMessage('K', '\0\0\0\x01\0\0\0\x01'),
  S: encodeMessage('S', '__proto__\0on\0'),
  N: encodeMessage('N', 'SNOTICE\0Mnotice\0\0'),
  A: encodeMessage('A', '\0\0\0\x01channel\0payload\0'),
  Z: encodeMessage('Z', 'I'),
  '1': encodeMessage('1'),
  '2': encodeMessage('2'),
  '3': encodeMessage('3'),
  t: encodeMessage('t', '\0\0'),
  T: describeColumns({ seven: 23 }),
  n: encodeMessage('n'),
  D: encodeRow(['7']),
  C: encodeMessage('C', 'SELECT 1\0'),
  I: encodeMessage('I'),
  E: encodeError('ERROR', '23505'),
  FATAL: encodeError('FATAL', '57P01'),
  s: encodeMessage('s'),
  G: encodeMessage('G', '\0\0\0'),
  H: encodeMessage('H', '\0\0\0'),
  W: encodeMessage('W', '\0\0\0'),
  d: encodeMessage('d', 'data'),
  c: encodeMessage('c'),
  V: encodeMessage('V', '\0\0\0\0'),
  v: encodeMessage('v', '\0\x03\0\0\0\0\0\0'),
  '?': encodeMessage('?', 'text'),
  NUL: encodeMessage('\0'),
};

const DOCUMENTED = /^(rows|unavailable|refused 23505)$/;

describe.for([false, true])('behind a pooler: %s,', async (isPooler) => {
  const messages = await recordMessages(isPooler);
  // At the end, the connection is idle.
  const states = Array.from({ length: messages.length + 1 }, (_, at) => [at, describeMessage(messages[at])] as const);

  test.concurrent.for(states)('every message before answer %d (%s)', async ([at]) => {
    const tries = Object.entries(LIES).map(async ([name, lie]) => {
      const tell = (message: Buffer, now: number) => {
        if (at === messages.length && now === at - 1) return Buffer.concat([message, lie]);
        return now === at ? Buffer.concat([lie, message]) : message;
      };
      return [name, await tryWith({ isPooler, tell })] as const;
    });
    for (const [name, outcomes] of await Promise.all(tries))
      for (const outcome of outcomes) expect(outcome, name).toMatch(DOCUMENTED);
  });
});

test('the connection ends before any byte', async () => {
  const messages = await recordMessages(false);
  const outcomes = await inBatches(Buffer.concat(messages).length, (cutAt) => {
    let before = 0;
    const tell = (message: Buffer) => {
      const bytes = message.subarray(0, Math.max(0, cutAt - before));
      before += message.length;
      return bytes;
    };
    return tryWith({ tell });
  });
  for (const outcome of outcomes.flat()) expect(outcome).toMatch(/^(rows|unavailable)$/);
});

test.concurrent.for([1, 2, 3, 5, 7, 11])('answers that come in parts of %d bytes are understood', async (partBytes) => {
  expect(await tryWith({ partBytes }, HONEST_TIMEOUT_MS)).toEqual(['rows', 'rows', 'rows']);
});

test.concurrent.for([
  ['FATAL', 'SFATAL\0VFATAL\0C57P01\0Mended\0\0'],
  ['PANIC', 'SPANIC\0VPANIC\0CXX000\0Mended\0\0'],
  ['FATAL in another language', 'SFATALE\0VFATAL\0C57P01\0Mended\0\0'],
  ['FATAL of a pooler, in one field', 'SFATAL\0C08P01\0Mno more connections allowed\0\0'],
])('%s ends a connection that the server leaves open', { timeout: HONEST_TIMEOUT_MS / 2 }, async ([, fields]) => {
  let isTold = false;
  const tell = (message: Buffer, at: number) => {
    // Notices are no answer.
    if (isTold) return encodeMessage('N', 'x'.repeat(message.length));
    isTold = at >= OPENING && message.toString('latin1', 0, 1) === 'T';
    return isTold ? encodeMessage('E', fields) : message;
  };
  const outcomes = await tryWith({ tell }, HONEST_TIMEOUT_MS);
  expect(isTold).toBe(true);
  expect(outcomes).toContain('unavailable');
  // Those that were not sent yet go over the next connection.
  for (const outcome of outcomes) expect(outcome).toMatch(/^(unavailable|rows)$/);
});

const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const authenticate = (request: number, text = '') =>
  encodeMessage('R', Buffer.concat([int32(request), Buffer.from(text)]));

/** How many messages open a connection: until there, it has asked for no rows that a caller gets. */
const OPENING = 13;

/** What is sent instead of the first message of a type that a statement, or the opening of a connection, gets. */
const INSTEAD: readonly (readonly [name: string, type: string, lie: Buffer, outcome?: string])[] = [
  ...[0, 3, -1, 2 ** 31 - 1, 64 * 1024 * 1024 + 1].map(
    (length) => [`a length of ${length}`, 'D', encodeMessage('D', '\0\x01', length)] as const,
  ),
  ['an error of no field', 'D', encodeMessage('E')],
  ['an error without an end', 'D', encodeMessage('E', 'SERROR')],
  ['65535 columns', 'T', describeColumns({ seven: 23 }, 65_535)],
  ['fewer columns than there are', 'T', describeColumns({ seven: 23, eight: 23 }, 1)],
  ['a column without an end', 'T', encodeMessage('T', '\0\x01seven')],
  ['a description without a count', 'T', encodeMessage('T')],
  ['no columns', 'T', encodeMessage('n')],
  ['another type of column', 'T', describeColumns({ seven: 114 }), 'rows'],
  ['a row of too many values', 'D', encodeRow(['7', '8'])],
  ['a row of too few values', 'D', encodeRow([])],
  ['a row without a count', 'D', encodeMessage('D')],
  ['a row that claims a value more', 'D', encodeRow(['7'], { count: 2 })],
  ['a value longer than its row', 'D', encodeRow(['7'], { length: 100 })],
  ['a value of negative length', 'D', encodeRow(['7'], { length: -2 })],
  [
    'a row with bytes behind its values',
    'D',
    encodeMessage('D', Buffer.concat([encodeRow(['7']).subarray(5), Buffer.from('8')])),
  ],
  ['rows without end', 'D', Buffer.alloc(12 * 600_000, encodeRow(['7']))],
  ['notices without end', 'D', Buffer.alloc(14 * 600_000, encodeMessage('N', 'SNOTICE\0\0')), 'rows'],
  ['a request for authentication that nobody knows', 'R', authenticate(7)],
  ['a request for authentication that is cut off', 'R', encodeMessage('R', '\0')],
  ['SCRAM without its values', 'R', authenticate(11, 'r=,s=')],
  ['SCRAM without its beginning', 'R', authenticate(11, 'r=a,s=aGVsbG8=,i=4096')],
  ['a login without the proof of SCRAM', 'R', Buffer.concat([authenticate(10, 'SCRAM-SHA-256\0\0'), authenticate(0)])],
  ['SCRAM of two thousand million rounds', 'R', authenticate(11, 'r=a,s=aGVsbG8=,i=2147483647')],
  ['SCRAM again and again', 'R', Buffer.alloc(2_900, authenticate(11, 'r=a,s=aGVsbG8=,i=900000'))],
  ['a password in clear text, twice', 'R', Buffer.concat([authenticate(3), authenticate(3)])],
  ['a key that is cut off', 'K', encodeMessage('K', '\0')],
];

test.concurrent.for(INSTEAD)('%s', async ([, type, lie, expected = 'unavailable']) => {
  let isTold = false;
  const tell = (message: Buffer, at: number) => {
    const isStatement = at >= OPENING;
    if (isTold || String.fromCharCode(message[0] ?? 0) !== type || isStatement !== /[TD]/.test(type)) return message;
    isTold = true;
    return lie.length < message.length ? Buffer.concat([lie, message]) : lie;
  };
  const outcomes = await tryWith({ tell });
  expect(isTold).toBe(true);
  expect(outcomes).toContain(expected);
  for (const outcome of outcomes) expect(outcome).toMatch(DOCUMENTED);
});

function describeMessage(message: Buffer | undefined): string {
  return message ? message.toString('latin1', 0, 1) : 'none';
}

/** Runs tries 0 to `count`, not all at once. */
async function inBatches<Result>(count: number, run: (at: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  while (results.length <= count) {
    const size = Math.min(BATCH, count + 1 - results.length);
    results.push(...(await Promise.all(Array.from({ length: size }, (_, at) => run(results.length + at)))));
  }
  return results;
}
