/** Loaded into a server whose memory is measured: on SIGUSR2 it collects all garbage, so that only what is held counts. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
process.on('SIGUSR2', () => collect());
