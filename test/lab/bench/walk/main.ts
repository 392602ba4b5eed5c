/**
 * `npm run bench:walk`: the files of `src` that a call over REST passes in a warm server, in order, and how often it
 * changes from one folder to another. `-- CheckIn` takes another call.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { endProcess } from '../../../support/end-process.ts';
import { openHttpClient } from '../../../support/http.ts';
import { findCall } from '../calls.ts';
import { prepareRequests } from '../load/prepare-requests.ts';
import { rest } from '../protocols.ts';
import { runBench } from '../run-bench.ts';
import { USHER } from '../servers.ts';
import { prepareDatabase } from '../set-up.ts';
import type { Entry } from './record-entries.ts';

const CALLS = 50;

await runBench(async (stack, progress) => {
  const { positionals } = parseArgs({ allowPositionals: true });
  const { fixtures, environment, directory } = await prepareDatabase(stack, CALLS, progress);
  const child = fork(USHER.file, {
    execArgv: ['report-port.js', 'record-entries.ts'].flatMap((name) => [
      '--import',
      new URL(name.replace('report', '../report'), import.meta.url).href,
    ]),
    cwd: directory,
    env: { ...environment, HOST: '127.0.0.1', PORT: '0' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  stack.defer(() => endProcess(child));
  progress('Usher');
  // Requests wait until the start is complete.
  const [{ port }] = await once(child, 'message');
  using client = openHttpClient(`http://127.0.0.1:${port}`, { httpVersion: '1.1' });
  for (const name of positionals.length > 0 ? positionals : ['GetWebhook', 'CheckIn']) {
    const count = { count: CALLS, firstNumber: 0 };
    const headers = { 'x-api-key': fixtures.apiKey };
    const walks: Entry[][] = [];
    for (const { wire, check } of prepareRequests(rest, findCall(fixtures, name), { ...count, headers })) {
      await takeEntries(child);
      const { status, bytes: body } = await client.send(wire);
      check({ status, body });
      walks.push(await takeEntries(child));
    }
    // The first calls look their key up and prepare their statement, and later ones may read the key again.
    const [shortest = []] = walks.sort((a, b) => a.length - b.length);
    process.stdout.write(`${layOut(name, shortest)}\n\n`);
  }
  return true;
});

async function takeEntries(child: ChildProcess): Promise<Entry[]> {
  const reply = once(child, 'message');
  child.send('take');
  const [{ entries }] = await reply;
  return entries;
}

/** Lists the files with the functions that were entered, one line for each stay in a file. */
function layOut(title: string, entries: readonly Entry[]): string {
  const stays: { readonly file: string; readonly names: string[] }[] = [];
  for (const { file, name } of entries) {
    if (stays.at(-1)?.file !== file) stays.push({ file, names: [] });
    stays.at(-1)?.names.push(name || '(anonymous)');
  }
  const files = [...new Set(stays.map(({ file }) => file))];
  const changesOf = (paths: readonly string[]) => {
    const folders = paths.map((path) => path.split('/')[0]);
    return folders.filter((folder, at) => at > 0 && folder !== folders[at - 1]).length;
  };
  const inside = files.filter((file) => file.startsWith('database/') && file !== 'database/pool/database.ts');
  const changes = `in ${changesOf(files)} changes of folder`;
  const summary = `${title}: ${files.length - inside.length} files, and ${inside.length} inside src/database, ${changes} (by first entry)`;
  const stayed = `${entries.length} functions entered, ${stays.length} stays, ${changesOf(stays.map(({ file }) => file))} changes of folder (by stay)`;
  return [summary, stayed, ...stays.map(({ file, names }) => `  ${file}: ${names.join(', ')}`)].join('\n');
}
