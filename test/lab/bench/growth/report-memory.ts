/** Preloaded into a server whose memory is measured. On SIGUSR2 it sends the benchmark what it uses without garbage. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
process.on('SIGUSR2', async () => {
  collect();
  // Objects of C++ are freed in the turn after a collection finds them unused.
  await nextTurn();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ usedBytes: heapUsed + external });
});
