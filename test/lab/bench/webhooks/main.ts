/**
 * `npm run bench -- webhooks`: throughput, latency, the cost on the request path, and the cost of claiming with a large
 * backlog. `--only throughput` measures one of them; `--rows 1000000` makes the backlog smaller.
 */
import { parseArgs } from 'node:util';
import { readCount, selectNames } from '../command-line.ts';
import { runBench } from '../run-bench.ts';
import { measureBacklog } from './backlog.ts';
import { measureLatency } from './latency.ts';
import { measureRequestPath } from './request-path.ts';
import { openScene } from './scene.ts';
import { measureThroughput } from './throughput.ts';

await runBench(async (stack, progress) => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '5' },
      messages: { type: 'string', default: '10000' },
      rows: { type: 'string', default: '10000000' },
    },
  });
  const [rounds, messages] = [readCount('rounds', values.rounds), readCount('messages', values.messages)];
  const rows = readCount('rows', values.rows);
  const parts = {
    throughput: async () => measureThroughput(await openScene(stack, progress), { rounds, messages }),
    latency: async () => measureLatency(await openScene(stack, progress)),
    requests: () => measureRequestPath(progress, rounds * 12),
    backlog: () => measureBacklog(progress, rows),
  };
  const isSelected = selectNames('only', values.only, Object.keys(parts));
  const results: boolean[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (!isSelected(name)) continue;
    progress(name);
    results.push(await measure());
  }
  return results.every((isMet) => isMet);
});
