/** The pauses of loops that the documentation promises. No time passes: each pause is noted, and ends at once. */
import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import timers from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import type { Database, Run } from '../../../src/database/pool/database.ts';
import { runExpiryJob } from '../../../src/jobs/expiry.ts';
import { MemoryCounts } from '../../../src/jobs/memory-counts.ts';
import { runClockJob } from '../../../src/jobs/run-jobs.ts';
import { watchFiles } from '../../../src/jobs/watch-files.ts';
import { createLogger } from '../../../src/log.ts';
import { MailError } from '../../../src/mail/mail-error.ts';
import { MailQueue } from '../../../src/mail/mail-queue.ts';
import { NoticeSender } from '../../../src/mail/notice-sender.ts';
import { createDirectory } from '../../support/directory.ts';
import { createTestMail } from '../../support/test-mail.ts';

const pauses = { noted: [] as number[], onPause: () => {} };
const { setTimeout: sleep } = timers;

/** In place of the one of Node, and not of a module: files share the code that they load. */
async function notePause(ms = 0): Promise<void> {
  pauses.noted.push(ms);
  pauses.onPause();
  await new Promise((resolve) => setImmediate(resolve));
}
Object.assign(timers, { setTimeout: notePause });
syncBuiltinESMExports();
afterAll(() => {
  Object.assign(timers, { setTimeout: sleep });
  syncBuiltinESMExports();
});
afterEach(() => vi.restoreAllMocks());

const logger = createLogger('silent');
const run: Run = async () => [] as never;
const database: Pick<Database, 'run' | 'within' | 'eachWithin'> = { run, within: () => run, eachWithin: () => run };

/** Returns the first pauses of a loop. */
async function notePauses(loop: (signal: AbortSignal) => Promise<void>, count = 3): Promise<readonly number[]> {
  const stop = new AbortController();
  pauses.noted.length = 0;
  pauses.onPause = () => pauses.noted.length >= count && stop.abort();
  await loop(stop.signal);
  return [...pauses.noted];
}

/** Runs a loop with the least and with the greatest jitter. */
async function readRange(loop: (signal: AbortSignal) => Promise<void>): Promise<readonly number[]> {
  const random = vi.spyOn(Math, 'random');
  const ends = [];
  for (const value of [0, 1]) {
    random.mockReturnValue(value);
    ends.push(...(await notePauses(loop, 1)));
  }
  return ends;
}

describe('seconds pass', () => {
  test('from 30 to 90 until expired rows are deleted again', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(0);
    // No row has expired: a run without batches takes no time.
    const options = { clock: () => new Date(0), auditLogDays: 1, signInLogDays: 1, webhookLogDays: 1, onError() {} };
    expect(await readRange((signal) => runExpiryJob(database, { ...options, signal }))).toEqual([30_000, 90_000]);
  });

  test('two until a file is read again, such as a certificate or the operators, and one if it has changed', async () => {
    const options = { use() {}, onError() {} };
    expect(await notePauses((signal) => watchFiles(['/dev/null'], { ...options, signal }))).toEqual([
      1_000, 2_000, 2_000,
    ]);
  });

  test('until two reads in a row of files agree, before they are used', async () => {
    const directory = await createDirectory();
    const [cert, key] = [join(directory, 'cert'), join(directory, 'key')];
    const write = ([certText, keyText]: readonly string[]) => {
      writeFileSync(cert, certText ?? '');
      writeFileSync(key, keyText ?? '');
    };
    const written = [
      ['', 'old'],
      ['n', 'old'],
      ['new', 'old'],
      ['new', 'n'],
      ['new', 'new'],
      ...Array(3).fill(['new', 'new']),
    ];
    write(['old', 'old']);
    const used: (readonly string[])[] = [];
    const errors: unknown[] = [];
    const stop = new AbortController();
    pauses.onPause = () => {
      const next = written.shift();
      if (next) write(next);
      else stop.abort();
    };
    await watchFiles([cert, key], {
      signal: stop.signal,
      seen: ['old', 'old'],
      use: (...texts) => used.push(texts),
      onError: (error) => errors.push(error),
    });
    expect({ used, errors }).toEqual({ used: [['new', 'new']], errors: [] });
  });

  test('after the first read, and a file that changes meanwhile is used as a changed one', async () => {
    const path = join(await createDirectory(), 'file');
    writeFileSync(path, 'first');
    const used: string[] = [];
    const stop = new AbortController();
    pauses.onPause = () => writeFileSync(path, 'second');
    const onUsed = () => stop.abort();
    await watchFiles([path], { signal: stop.signal, use: (text = '') => used.push(text), onUsed, onError() {} });
    expect(used).toEqual(['second']);
  });

  test('one until the clock of Postgres is read again', async () => {
    expect(await notePauses((signal) => runClockJob({ measure: async () => {} }, signal))).toEqual(
      Array(3).fill(1_000),
    );
  });

  test('from 30 to 60 until counts are stored', async () => {
    const outcomes = { sent: 0, failed: 0, pending: 0, succeeded: 0 };
    const apiKeys = { saveUses: async () => {} };
    const unknownAddresses = { save: async () => {} };
    const counted = { mailer: { outcomes }, delivery: { outcomes }, unknownAddresses };
    const parts = { apiKeys, clock: () => new Date(), database, logger, ...counted };
    expect(await readRange((signal) => new MemoryCounts(parts).run(signal))).toEqual([30_000, 60_000]);
  });

  test('about five until a process looks for the notices of others', async () => {
    const sender = new NoticeSender({
      codeKeys: [],
      hasAccountPage: false,
      hasMutePage: false,
      authPageUrl: 'https://usher.test/login',
      clock: () => new Date(),
      database,
      logger,
      outcomes: { sent: 0, failed: 0 },
      noticeLinks: {},
      providers: { nameOf: () => '' },
      sender: { send: async () => {} },
    });
    expect(await readRange((signal) => sender.run(signal))).toEqual([3_750, 6_250]);
  });
});

test('a code is sent after 0.5 to 2 s, and three times more after 2, 10 and 30 s', async () => {
  const attempts: string[] = [];
  const send = async (_: unknown, { id }: { id: string }) => {
    attempts.push(id);
    throw new MailError({ code: 'ECONNECTION' }, { isOfServer: true });
  };
  const queue = new MailQueue({ send }, logger, { isDelayed: true });
  pauses.noted.length = 0;
  pauses.onPause = () => {};
  await new Promise<void>((resolve) =>
    queue.send(createTestMail(), { requestId: 'request', onEnd: async () => resolve() }),
  );
  const [delay, ...retries] = pauses.noted;
  expect(retries).toEqual([2_000, 10_000, 30_000]);
  expect(delay).toBeGreaterThanOrEqual(500);
  expect(delay).toBeLessThan(2_000);
  expect(attempts).toHaveLength(4);
});

test('a shutdown waits 3 s for a mail server that hangs', async () => {
  const queue = new MailQueue({ send: () => new Promise(() => {}) }, logger, { isDelayed: false });
  const ended: unknown[] = [];
  queue.send(createTestMail(), { requestId: 'request', onEnd: async (error) => void ended.push(error?.code) });
  pauses.noted.length = 0;
  pauses.onPause = () => {};
  await queue.close();
  expect(pauses.noted).toEqual([3_000]);
  expect(ended).toEqual(['shutdown']);
});
