/**
 * `npm run bench:inside`: what the code of Usher costs per call over REST, compared with `node:http` by hand, without the
 * kernel and Postgres. It varies by 3 %, even on a busy machine. `--against ../usher-main` measures another checkout, too.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readCount } from '../command-line.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { runBench } from '../run-bench.ts';
import { medianOf } from '../statistics.ts';

interface Subject {
  readonly title: string;
  readonly file: string;
  readonly server: 'usher' | 'node-http';
}

interface Cost {
  readonly name: string;
  readonly micros: number;
}

await runBench(async (stack, progress) => {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' }, against: { type: 'string' } } });
  const rounds = readCount('rounds', values.rounds);
  const here = resolve(import.meta.dirname, 'measure.ts');
  const subjects: Subject[] = [
    { title: 'node:http by hand', file: here, server: 'node-http' },
    { title: 'Usher', file: here, server: 'usher' },
  ];
  if (values.against)
    subjects.push({
      title: 'against',
      file: resolve(values.against, 'test/lab/bench/inside/measure.ts'),
      server: 'usher',
    });
  const costs = new Map<Subject, Map<string, number[]>>(subjects.map((subject) => [subject, new Map()]));
  for (let round = 1; round <= rounds; round++) {
    for (const subject of subjects) {
      progress(`round ${round}: ${subject.title}`);
      for (const { name, micros } of await measure(subject, stack))
        costs.get(subject)?.set(name, [...(costs.get(subject)?.get(name) ?? []), micros]);
    }
  }
  const names = [...(costs.values().next().value?.keys() ?? [])];
  const rows = subjects.map((subject) => [
    subject.title,
    ...names.map((name) => medianOf(costs.get(subject)?.get(name) ?? []).toFixed(1)),
  ]);
  process.stdout.write(`${layOutTable(['us of the thread', ...names], rows)}\n`);
  return true;
});

async function measure({ file, server }: Subject, stack: AsyncDisposableStack): Promise<readonly Cost[]> {
  // The log is written, but to /dev/null.
  const child = fork(file, [server], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  stack.defer(() => void child.kill());
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} ended with ${code}`);
  });
  ended.catch(() => {});
  const [costs] = await Promise.race([once(child, 'message'), ended]);
  await once(child, 'exit');
  return costs;
}
