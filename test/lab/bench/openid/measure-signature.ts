import { type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { Cost } from '../meter.ts';
import { readUsage } from '../read-usage.ts';

const SIGNATURES = 400;
const CONCURRENCY = 16;
/** About as long as the head and the claims of an ID token. */
const TEXT = Buffer.alloc(700, 'a');

const signInThreadPool = promisify<string, Buffer, KeyObject, Buffer>(sign);

/** Returns the CPU time of a signature with RS256 in this process. */
export async function measureSignature(privateKey: KeyObject): Promise<Cost[]> {
  const before = readUsage(process.pid).cpuMicros;
  for (let made = 0; made < SIGNATURES; made += CONCURRENCY)
    await Promise.all(Array.from({ length: CONCURRENCY }, () => signInThreadPool('sha256', TEXT, privateKey)));
  return [{ serverMicros: (readUsage(process.pid).cpuMicros - before) / SIGNATURES, postgresMicros: 0 }];
}
