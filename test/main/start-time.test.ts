/** Starts on existing data: the time to the first reply, and the memory of an idle process. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { measureBareStart, measureStart } from '../bench/start/measure-start.ts';

const LIMIT_MS = 1_000;
const LIMIT_MB = 120;
/** The time of `node -e 0` on an idle machine. A busy machine scales the limit by as much as it slows that down. */
const BARE_START_MS = 30;
const STARTS = 5;

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'usher-start-time-'));
  await measureStart(directory);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

test('answers the first call within a second, and needs less than 120 MB when idle', {
  timeout: 120_000,
}, async () => {
  let [best, memory] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let start = 0; start < STARTS && (best > LIMIT_MS || memory > LIMIT_MB); start++) {
    const bareMs = await measureBareStart();
    const { firstCallMs, residentBytes } = await measureStart(directory);
    best = Math.min(best, firstCallMs / Math.max(1, bareMs / BARE_START_MS));
    memory = Math.min(memory, residentBytes / 2 ** 20);
  }
  expect(best).toBeLessThan(LIMIT_MS);
  expect(memory).toBeLessThan(LIMIT_MB);
});
