/** The states of the demo's logins. A signature tells that the demo has issued a state, in whichever process. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Returns a new state. */
export function createState(apiKey: string): string {
  const random = randomBytes(9).toString('base64url');
  return `${random}.${sign(apiKey, random)}`;
}

/** Returns whether the demo has issued the state. */
export function isOwnState(apiKey: string, state: string): boolean {
  const [random = ''] = state.split('.');
  const [given, expected] = [state, `${random}.${sign(apiKey, random)}`].map((text) => Buffer.from(text));
  return given?.length === expected?.length && timingSafeEqual(given ?? Buffer.alloc(0), expected ?? Buffer.alloc(0));
}

function sign(apiKey: string, random: string): string {
  return createHmac('sha256', apiKey).update(`state ${random}`).digest('base64url').slice(0, 22);
}
