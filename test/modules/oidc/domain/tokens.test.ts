/** What codes and tokens carry, and that nobody else can write one. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createAccessToken, readAccessToken } from '../../../../src/modules/oidc/domain/tokens/access-token.ts';
import { createCode, readCode } from '../../../../src/modules/oidc/domain/tokens/code.ts';
import { createRefreshToken, readRefreshToken } from '../../../../src/modules/oidc/domain/tokens/refresh-token.ts';
import type { SealKeys } from '../../../../src/modules/oidc/domain/tokens/sealed-bytes.ts';
import { deriveTokenKeys } from '../../../../src/modules/oidc/domain/tokens/token-keys.ts';

const older = randomBytes(32);
const newer = randomBytes(32);
const keys = deriveTokenKeys([older]);
const rotated = deriveTokenKeys([newer, older]);

const accessToken = { scope: 5, applicationId: randomUUID(), sessionId: randomUUID(), grantId: randomUUID() };
const resourceToken = { ...accessToken, names: (1n << 49n) + 5n };
const refreshToken = {
  scope: 15,
  method: 'passkey',
  applicationId: randomUUID(),
  userId: randomUUID(),
  grantId: randomUUID(),
  authenticatedAt: new Date('2026-03-01T12:00:00.250Z'),
  endsAt: new Date('2026-03-02T00:00:00.250Z'),
  rotation: 70_000,
  isForClient: false,
} as const;
const loginIntentId = randomUUID();

const KINDS = {
  code: {
    create: ({ code }: typeof keys) => createCode(code, loginIntentId),
    read: readCode as (keys: SealKeys, text: string) => unknown,
    keysOf: ({ code }: typeof keys) => code,
    content: { loginIntentId, resourceId: undefined },
    form: /^[\w-]{64}$/,
  },
  'code for a resource': {
    create: ({ code }: typeof keys) => createCode(code, loginIntentId, accessToken.applicationId),
    read: readCode as (keys: SealKeys, text: string) => unknown,
    keysOf: ({ code }: typeof keys) => code,
    content: { loginIntentId, resourceId: accessToken.applicationId },
    form: /^[\w-]{86}$/,
  },
  'access token for a resource': {
    create: (all: typeof keys) => createAccessToken(all.accessToken, resourceToken),
    read: readAccessToken,
    keysOf: (all: typeof keys) => all.accessToken,
    content: resourceToken,
    form: /^uat_[\w-]{120}$/,
  },
  'refresh token for a resource': {
    create: (all: typeof keys) => createRefreshToken(all.refreshToken, { ...refreshToken, isForClient: true }),
    read: readRefreshToken,
    keysOf: (all: typeof keys) => all.refreshToken,
    content: { ...refreshToken, isForClient: true },
    form: /^urt_[\w-]{130,150}$/,
  },
  'access token': {
    create: (all: typeof keys) => createAccessToken(all.accessToken, accessToken),
    read: readAccessToken,
    keysOf: (all: typeof keys) => all.accessToken,
    content: accessToken,
    form: /^uat_[\w-]{110}$/,
  },
  'refresh token': {
    create: (all: typeof keys) => createRefreshToken(all.refreshToken, refreshToken),
    read: readRefreshToken,
    keysOf: (all: typeof keys) => all.refreshToken,
    content: refreshToken,
    form: /^urt_[\w-]{130,150}$/,
  },
};

describe.each(Object.entries(KINDS))('a %s', (_kind, { create, read, keysOf, content, form }) => {
  const text = create(keys);

  test('is read as it was created, the same every time', () => {
    expect(text).toMatch(form);
    expect(create(keys)).toBe(text);
    expect(read(keysOf(keys), text)).toEqual(content);
  });

  test('is read while its key is among those of the service', () => {
    expect(read(keysOf(rotated), text)).toEqual(content);
    expect(read(keysOf(keys), create(rotated))).toBeUndefined();
  });

  test('is none with any character changed, added or taken away', () => {
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === 'A' ? 'B' : 'A';
      expect(read(keysOf(keys), text.slice(0, at) + other + text.slice(at + 1)), `at ${at}`).toBeUndefined();
    }
    for (const changed of [`${text}A`, text.slice(0, -1), `${text}=`, ` ${text}`, `${text}\n`, '', 'uat_', 'urt_']) {
      expect(read(keysOf(keys), changed)).toBeUndefined();
    }
  });

  test('is no token of another kind', () => {
    for (const [name, other] of Object.entries(KINDS)) {
      for (const key of Object.values(keys)) {
        if (other.read === read && key === keysOf(keys)) continue;
        expect(other.read(key, text), name).toBeUndefined();
      }
    }
  });
});
