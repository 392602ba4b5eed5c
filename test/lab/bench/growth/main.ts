/**
 * `npm run bench -- growth`: what grows with rows, with expired rows, with logins and with calls. `--only sizes` measures
 * one of them. With the defaults it needs 12 GB of disk and an hour; `--rows 1000000 --calls 400000` needs less.
 */
import { parseArgs } from 'node:util';
import { readCount, selectNames } from '../command-line.ts';
import { runBench } from '../run-bench.ts';
import { measureCalls } from './calls.ts';
import { measureExpiry } from './expiry.ts';
import { measureRows } from './rows.ts';
import { measureSizes } from './sizes.ts';

await runBench(async (stack, progress) => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '15' },
      requests: { type: 'string', default: '2000' },
      rows: { type: 'string', default: '10000000' },
      logins: { type: 'string', default: '4000' },
      calls: { type: 'string', default: '2000000' },
    },
  });
  const count = (option: 'rounds' | 'requests' | 'rows' | 'logins' | 'calls') => readCount(option, values[option]);
  const [rounds, requests, rows] = [count('rounds'), count('requests'), count('rows')];
  const [logins, calls] = [count('logins'), count('calls')];
  const parts: Readonly<Record<string, (stack: AsyncDisposableStack) => Promise<boolean>>> = {
    rows: (own) => measureRows(own, progress, { rows, rounds, requests }),
    expiry: (own) => measureExpiry(own, progress, { rows, requests }),
    sizes: (own) => measureSizes(own, progress, logins),
    calls: (own) => measureCalls(own, progress, calls),
  };
  const isSelected = selectNames('only', values.only, Object.keys(parts));
  const results: boolean[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (!isSelected(name)) continue;
    progress(name);
    const own = stack.use(new AsyncDisposableStack());
    results.push(await measure(own));
    await own.disposeAsync();
  }
  return results.every((isMet) => isMet);
});
