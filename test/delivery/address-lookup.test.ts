import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createResolve } from '../../src/delivery/address-lookup.ts';

test('finds every address of a name in the hosts file', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'usher-hosts-'));
  const file = join(directory.path, 'hosts');
  await writeFile(file, '# 10.0.0.9 receiver\n10.0.0.1\tother Receiver.internal receiver # the one\n::2 receiver\n');
  const resolve = createResolve(file);
  expect(await resolve('receiver')).toEqual(['10.0.0.1', '::2']);
  expect(await resolve('RECEIVER.internal.')).toEqual(['10.0.0.1']);
  expect(await resolve('localhost')).toEqual(['127.0.0.1', '::1']);
});
