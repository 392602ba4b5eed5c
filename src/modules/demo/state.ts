/** The `state` of the demo's logins. The demo signs it, so that it has none to keep. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export function createState(apiKey: string): string {
  const random = randomBytes(9).toString('base64url');
  return `${random}.${sign(apiKey, random)}`;
}

export function isOwnState(apiKey: string, state: string): boolean {
  const [random = ''] = state.split('.');
  const [given, expected] = [state, `${random}.${sign(apiKey, random)}`].map((text) => Buffer.from(text));
  return given?.length === expected?.length && timingSafeEqual(given ?? Buffer.alloc(0), expected ?? Buffer.alloc(0));
}

function sign(apiKey: string, random: string): string {
  return createHmac('sha256', apiKey).update(`state ${random}`).digest('base64url').slice(0, 22);
}
