import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createResolve } from '../../../src/delivery/address-lookup.ts';
import { createDirectory } from '../../support/directory.ts';

test('finds every address of a name in the hosts file', async () => {
  const directory = await createDirectory();
  const file = join(directory, 'hosts');
  await writeFile(file, '# 10.0.0.9 receiver\n10.0.0.1\tother Receiver.internal receiver # the one\n::2 receiver\n');
  const resolve = createResolve(file);
  expect(await resolve('receiver')).toEqual(['10.0.0.1', '::2']);
  expect(await resolve('RECEIVER.internal.')).toEqual(['10.0.0.1']);
  expect(await resolve('localhost')).toEqual(['127.0.0.1', '::1']);
});
