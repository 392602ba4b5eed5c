import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a temporary directory, which the end of the run removes. */
export function createDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'usher-'));
}
