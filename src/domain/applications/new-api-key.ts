import { randomUUID } from 'node:crypto';
import { digestOf, generateApiKey } from './api-key.ts';

/** Returns a new key, and the ID and digest that are stored for it. */
export function newApiKey(): { apiKey: string; apiKeyId: string; digest: Buffer } {
  const apiKey = generateApiKey();
  return { apiKey, apiKeyId: randomUUID(), digest: Buffer.from(digestOf(apiKey), 'hex') };
}
