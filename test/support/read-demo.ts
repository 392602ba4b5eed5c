import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Demo {
  readonly apiKey: string;
  readonly clientId: string;
  readonly webhookId: string;
}

/** Reads the demo that the first start has created in the data directory. */
export async function readDemo(dataDir: string): Promise<Demo> {
  return JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
}
