/** The files that a call over REST passes in a warm server: few, and those that CONTRIBUTING.md names. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findCall } from '../lab/bench/calls.ts';
import { prepareRequests } from '../lab/bench/load/prepare-requests.ts';
import { rest } from '../lab/bench/protocols.ts';
import { USHER } from '../lab/bench/servers.ts';
import { prepareDatabase } from '../lab/bench/set-up.ts';
import { endProcess } from '../support/end-process.ts';
import { openHttpClient } from '../support/http.ts';
import { REPOSITORY } from '../support/process.ts';
import type { Entry } from '../support/record-entries.ts';

const CALLS = 50;

test('a call passes at most 26 files down to the database in 10 changes of folder, and CONTRIBUTING.md names them', async () => {
  await using stack = new AsyncDisposableStack();
  const { fixtures, environment, directory } = await prepareDatabase(stack, CALLS, () => {});
  const preloads = ['../lab/bench/report-port.js', '../support/record-entries.ts'];
  const child = fork(USHER.file, {
    execArgv: preloads.flatMap((path) => ['--import', new URL(path, import.meta.url).href]),
    cwd: directory,
    env: { ...environment, HOST: '127.0.0.1', PORT: '0' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  stack.defer(() => endProcess(child));
  // Requests wait until the start is complete.
  const [{ port }] = await once(child, 'message');
  using client = openHttpClient(`http://127.0.0.1:${port}`, { httpVersion: '1.1' });
  const shown = new Set<string>();
  for (const name of ['GetWebhook', 'CheckIn']) {
    const headers = { 'x-api-key': fixtures.apiKey };
    const walks: Entry[][] = [];
    for (const { wire, check } of prepareRequests(rest, findCall(fixtures, name), {
      count: CALLS,
      firstNumber: 0,
      headers,
    })) {
      await takeEntries(child);
      const { status, bytes: body } = await client.send(wire);
      check({ status, body });
      walks.push(await takeEntries(child));
    }
    // The first calls look their key up and prepare their statement, and later ones may read the key again.
    const [shortest = []] = walks.sort((a, b) => a.length - b.length);
    const files = [...new Set(shortest.map(({ file }) => file))];
    const outside = files.filter((file) => !isInsideDatabase(file));
    const folders = files.map((file) => file.split('/')[0]);
    const changes = folders.filter((folder, at) => at > 0 && folder !== folders[at - 1]);
    expect(outside.length, `${name}: ${outside.join(', ')}`).toBeLessThanOrEqual(26);
    expect(changes.length, `${name}: ${files.join(', ')}`).toBeLessThanOrEqual(10);
    for (const file of outside) shown.add(`src/${file}`);
  }
  expect(readNamedFiles()).toEqual(shown);
}, 300_000);

/** Returns the files in the table of CONTRIBUTING.md. */
function readNamedFiles(): Set<string | undefined> {
  const page = readFileSync(join(REPOSITORY, 'CONTRIBUTING.md'), 'utf8');
  const [, table = ''] = page.split('| Step | Files | What happens |');
  const [rows = ''] = /^(\|.*\n)*/.exec(table.trimStart()) ?? [];
  return new Set([...rows.matchAll(/\((src\/\S+?)\)/g)].map(([, file]) => file));
}

function isInsideDatabase(file: string): boolean {
  return file.startsWith('database/') && file !== 'database/pool/database.ts';
}

async function takeEntries(child: ChildProcess): Promise<Entry[]> {
  const reply = once(child, 'message');
  child.send('take');
  const [{ entries }] = await reply;
  return entries;
}
