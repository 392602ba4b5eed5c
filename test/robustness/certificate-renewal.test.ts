import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { writeCertificate } from '../support/certificate.ts';
import { cloneDatabase } from '../support/database.ts';
import { startUsher } from '../support/process.ts';
import { logOf } from '../support/workers.ts';

test('all workers take a renewed certificate from its files, and keep the one before if it is broken', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'usher-tls-'));
  await using database = await cloneDatabase();
  const files = await writeCertificate(directory.path);
  await using main = await startUsher(database.url, { WORKERS: '2', ...files }, { keepsLog: true });
  const served = async () => {
    const prints = new Set<string>();
    for (let connection = 0; connection < 4; connection++) {
      const socket = connect({ host: '127.0.0.1', port: main.port, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      prints.add(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    }
    return [...prints];
  };
  const workersThatSay = (message: string) =>
    new Set(logOf(main).flatMap(({ msg, worker }) => (msg === message ? [worker] : []))).size;
  const first = await served();
  expect(first).toHaveLength(1);

  await writeFile(files.TLS_CERT_FILE, 'no certificate');
  await expect.poll(() => workersThatSay('certificate not renewed')).toBe(2);
  expect(await served()).toEqual(first);

  await writeCertificate(directory.path);
  await expect.poll(() => workersThatSay('certificate renewed')).toBe(2);
  const second = await served();
  expect(second).toHaveLength(1);
  expect(second).not.toEqual(first);
});
