import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Demo {
  readonly apiKey: string;
  readonly applicationId: string;
  readonly clientId: string;
  readonly userId: string;
  readonly webhookId: string;
  readonly redirectUris: readonly string[];
}

/** Reads the demo that the first start has created in the data directory. */
export async function readDemo(dataDir: string): Promise<Demo> {
  return JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
}
