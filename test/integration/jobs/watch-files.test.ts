import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { watchFiles } from '../../../src/jobs/watch-files.ts';
import { createDirectory } from '../../support/directory.ts';

test('a file is used at first and whenever it changes, and a text that cannot be used is told once', async () => {
  const path = join(await createDirectory(), 'file');
  await writeFile(path, 'first');
  const used: string[] = [];
  const errors: unknown[] = [];
  let changes = 0;
  const stop = new AbortController();
  const watch = watchFiles([path], {
    signal: stop.signal,
    use(text = '') {
      if (text === 'wrong') throw new Error('wrong');
      used.push(text);
    },
    onUsed: () => changes++,
    onError: (error) => errors.push(error),
  });
  await expect.poll(() => used).toEqual(['first']);
  await writeFile(path, 'wrong');
  await expect.poll(() => errors).toHaveLength(1);
  await writeFile(path, 'second');
  await expect.poll(() => used).toEqual(['first', 'second']);
  stop.abort();
  await watch;
  expect({ changes, errors: errors.length }).toEqual({ changes: 1, errors: 1 });
});
