/** The `state` of a sign-in at a provider: whose it is, for how long, and what is made from it. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  createAuthorization,
  deriveAuthorizationKeys,
  readAuthorization,
} from '../../../src/modules/providers/domain/authorization-state.ts';

const encryptionKeys = [randomBytes(32), randomBytes(32)] as const;
const keys = deriveAuthorizationKeys(encryptionKeys);
const now = new Date('2026-11-23T12:00:00Z');
const at = { purpose: 'login', providerId: 'acme', browserDigest: randomBytes(32), now } as const;
const later = (seconds: number) => new Date(now.getTime() + seconds * 1_000);

test('is read again with the same login, nonce and verifier', () => {
  const login = randomUUID();
  const begun = createAuthorization(keys, login, at);
  expect(begun.subjectId).toBe(login);
  expect(readAuthorization(keys, begun.state, at)).toEqual(begun);
  for (const seconds of [-60, 600])
    expect(readAuthorization(keys, begun.state, { ...at, now: later(seconds) })).toEqual(begun);
});

test('two sign-ins of one instant have nothing in common but the login', () => {
  const login = randomUUID();
  const [one, other] = [createAuthorization(keys, login, at), createAuthorization(keys, login, at)];
  for (const name of ['id', 'state', 'nonce', 'codeVerifier'] as const) expect(one[name]).not.toBe(other[name]);
  expect(one.nonce).not.toBe(one.codeVerifier);
});

test.each<[string, Partial<Parameters<typeof readAuthorization>[2]>]>([
  ['another browser', { browserDigest: randomBytes(32) }],
  ['another provider', { providerId: 'corp' }],
  ['a link', { purpose: 'link' }],
  ['the way to the passkeys', { purpose: 'passkeys' }],
  ['a time after 10 minutes', { now: later(601) }],
  ['a time before it', { now: later(-61) }],
])('is of no use to %s', (_, other) => {
  const { state } = createAuthorization(keys, randomUUID(), at);
  expect(readAuthorization(keys, state, { ...at, ...other })).toBeUndefined();
});

test('is of no use when a bit of it has changed, or its end is missing', () => {
  const bytes = Buffer.from(createAuthorization(keys, randomUUID(), at).state, 'base64url');
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
    expect(readAuthorization(keys, changed.toString('base64url'), at), String(index)).toBeUndefined();
  }
  for (const length of [0, 36, 67]) {
    expect(readAuthorization(keys, bytes.subarray(0, length).toString('base64url'), at)).toBeUndefined();
  }
});

test('survives a rotation of the encryption keys until its key is removed', () => {
  const { state } = createAuthorization(keys, randomUUID(), at);
  const [old, second] = encryptionKeys;
  const rotated = deriveAuthorizationKeys([randomBytes(32), old]);
  expect(readAuthorization(rotated, state, at)).toEqual(readAuthorization(keys, state, at));
  expect(readAuthorization(deriveAuthorizationKeys([second]), state, at)).toBeUndefined();
});
