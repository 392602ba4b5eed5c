/** The rows in the database of the benchmark. Everything about a row follows from its number. */
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { generateApiKey } from '../../../src/domain/applications/api-key.ts';
import type { Application } from '../../../src/domain/core/call.ts';

/** How many webhooks and open events the calls use in turn. */
export const WEBHOOKS = 250;
export const OPEN_EVENTS = 100;
/** So many users have a session, from number 0 on. */
export const SIGNED_IN_USERS = 250;

export const AUTH_PAGE_URL = 'https://usher.example/login';
export const ISSUER = 'https://usher.example';
export const SIGNING_KEY_ID = 'bench-key';

export interface Fixtures {
  readonly application: Application;
  readonly apiKey: string;
  readonly tokenKey: KeyObject;
  readonly encryptionKey: Buffer;
  /** Its milliseconds are not zero, so that every protocol writes the same text. */
  readonly createdAt: Date;
}

export function createFixtures(): Fixtures {
  const createdAt = new Date();
  createdAt.setMilliseconds(123);
  return {
    application: {
      id: uuidOf('a', 1),
      name: 'Bench application',
      clientId: 'client_0123456789abcdef0123456789abcdef',
      redirectUris: ['https://app.example/other', 'https://app.example/callback'],
    },
    apiKey: generateApiKey(),
    tokenKey: generateKeyPairSync('ed25519').privateKey,
    encryptionKey: randomBytes(32),
    createdAt,
  };
}

export function userAt(number: number) {
  return {
    id: uuidOf('b', number),
    email: `user${number}@example.com`,
    name: `User ${number}`,
    profileImage: `https://images.example/${number}.png`,
    walletAddress: `0x${number.toString(16).padStart(40, '0')}`,
  };
}

/** Returns the ID of the session that a signed-in user has. */
export function sessionIdAt(number: number): string {
  return uuidOf('c', number);
}

export function webhookAt(number: number) {
  return {
    id: `wh_${number.toString(16).padStart(32, '0')}`,
    signingKey: `whsec_${Buffer.alloc(32, number).toString('base64')}`,
    url: `https://hooks.example/${number}`,
    owner: userAt(number % SIGNED_IN_USERS),
  };
}

/** Returns the ID of an event that no call deletes. */
export function openEventIdAt(number: number): string {
  return `open-event-${number}`;
}

/** Returns the ID of an event that a call deletes. */
export function eventIdAt(number: number): string {
  return `event-${number}`;
}

/** Returns the address of a user's browser: each in a network of its own, so that limits of a network are not reached. */
export function addressAt(number: number): string {
  return `${1 + (number % 200)}.${(number >> 8) & 255}.${number & 255}.1`;
}

/** Returns a UUID of version 4 that shows the kind of the row and its number. */
function uuidOf(kind: string, number: number): string {
  return `${kind.repeat(8)}-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;
}
