/** What codes and tokens carry, and that nobody else can write one. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createMachineToken, readMachineToken } from '../../../../src/modules/oidc/domain/machines/machine-token.ts';
import {
  createAccessToken,
  createAccessTokenOpener,
  readAccessToken,
} from '../../../../src/modules/oidc/domain/tokens/access-token.ts';
import { createCode, readCode } from '../../../../src/modules/oidc/domain/tokens/code.ts';
import { createRefreshToken, readRefreshToken } from '../../../../src/modules/oidc/domain/tokens/refresh-token.ts';
import { fromBits, toBits } from '../../../../src/modules/oidc/domain/tokens/scope-names.ts';
import { openBytes, type SealKeys, sealBytes } from '../../../../src/modules/oidc/domain/tokens/sealed-bytes.ts';
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
const machineToken = {
  ...{ clientApplicationId: randomUUID(), resourceId: randomUUID(), apiKeyId: randomUUID() },
  ...{ expiresAt: new Date('2026-03-02T00:00:00.250Z'), scope: 'read write' },
};

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
  'machine token': {
    create: (all: typeof keys) => createMachineToken(all.machineToken, machineToken),
    read: readMachineToken,
    keysOf: (all: typeof keys) => all.machineToken,
    content: machineToken,
    form: /^umt_[\w-]{130,150}$/,
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

/** Of an encryption key of zeros. Tokens outlive an update, and some replicas are updated before others. */
const fixed = deriveTokenKeys([Buffer.alloc(32)]);
const idOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const ofFixed = { applicationId: idOf(1), grantId: idOf(3) };
const ofRefresh = { ...refreshToken, ...ofFixed, userId: idOf(2) };
const ISSUED = [
  [
    'code',
    () => readCode(fixed.code, 'AAAAAAAAQACAAAAAAAAAAcrMjsqPYv2Jssyk2jB24L2a10RhDdPIluRMMRCaCEyA'),
    { loginIntentId: idOf(1), resourceId: undefined },
  ],
  [
    'code for a resource',
    () =>
      readCode(fixed.code, 'AAAAAAAAQACAAAAAAAAAAQAAAAAAAEAAgAAAAAAAAAL4UKh_36AEPsZ-73l1ScoZWX-HdB6iQdBNY8ByKx6nfw'),
    { loginIntentId: idOf(1), resourceId: idOf(2) },
  ],
  [
    'access token',
    () =>
      readAccessToken(
        fixed.accessToken,
        'uat_AQUAAAAAAABAAIAAAAAAAAABAAAAAAAAQACAAAAAAAAAAgAAAAAAAEAAgAAAAAAAAAN6ENcwip-FPepBeVV5kDuLPJLAzolBeP5mfht3LumorQ',
      ),
    { scope: 5, ...ofFixed, sessionId: idOf(2), names: undefined },
  ],
  [
    'access token for a resource',
    () =>
      readAccessToken(
        fixed.accessToken,
        'uat_AgUAAAAAAABAAIAAAAAAAAABAAAAAAAAQACAAAAAAAAAAgAAAAAAAEAAgAAAAAAAAAMAAAAAAAAABTgEnNVeVXZojxRWJX3ZayIQf8ln77IdmEtRxuCShjVg',
      ),
    { scope: 5, ...ofFixed, sessionId: idOf(2), names: 5n },
  ],
  [
    'refresh token',
    () =>
      readRefreshToken(
        fixed.refreshToken,
        'urt_AQ8AARFwAAAAAAAAQACAAAAAAAAAAQAAAAAAAEAAgAAAAAAAAAIAAAAAAABAAIAAAAAAAAADAAABnKlFCvoAAAGcq9g4-nBhc3NrZXk6VoIH33rr6hdGS7jjnzDsqWDebSa09fV4hCku0_a9zg',
      ),
    ofRefresh,
  ],
  [
    'refresh token for a resource',
    () =>
      readRefreshToken(
        fixed.refreshToken,
        'urt_Ag8AARFwAAAAAAAAQACAAAAAAAAAAQAAAAAAAEAAgAAAAAAAAAIAAAAAAABAAIAAAAAAAAADAAABnKlFCvoAAAGcq9g4-nBhc3NrZXnU17dt9bYbnDh8dzoq7-O9j1lbK-hKFWsmbzZDExJkKw',
      ),
    { ...ofRefresh, isForClient: true },
  ],
  [
    'machine token',
    () =>
      readMachineToken(
        fixed.machineToken,
        'umt_AQAAAAAAAEAAgAAAAAAAAAEAAAAAAABAAIAAAAAAAAACAAAAAAAAQACAAAAAAAAAAwAAAZyr2Dj6cmVhZCB3cml0ZekSZizzcV4NnsH77o8Gt8asNElPal0oo406m_XhYCxd',
      ),
    { ...machineToken, clientApplicationId: idOf(1), resourceId: idOf(2), apiKeyId: idOf(3) },
  ],
] as const;

test.each(ISSUED)('a %s that version 2.0.0 has issued is read', (_, read, content) => {
  expect(read()).toEqual(content);
});

test('the last 10,000 access tokens are opened once', () => {
  const open = createAccessTokenOpener(keys.accessToken);
  const create = (scope: number, at: number) =>
    createAccessToken(keys.accessToken, { ...accessToken, scope, sessionId: at.toString(16).padStart(32, '0') });
  const texts = Array.from({ length: 10_001 }, (_, at) => create(1, at));
  const [first, ...others] = texts.map((text) => open(text));
  expect(first).toMatchObject({ scope: 1, applicationId: accessToken.applicationId });
  expect(open(texts[1] ?? '')).toBe(others[0]);
  expect(open(texts[0] ?? '')).not.toBe(first);
  for (let turn = 0; turn < 2; turn++) expect(open(`${texts[0]}A`)).toBeUndefined();
});

test.each([
  [['a', 'b', 'c'], ['c', 'a', 'd'], 5n, ['a', 'c']],
  [['a', 'b'], [], 0n, []],
  [['a'], ['a'], 1n, ['a']],
])('of the granted names %j, a token has %j as the bits %s', (granted, chosen, bits, names) => {
  expect(toBits(granted, chosen)).toBe(bits);
  expect(fromBits(granted, bits)).toEqual(names);
});

test('what is sealed may be empty', () => {
  expect(openBytes(keys.code, sealBytes(keys.code, Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
});

/** What a later version may issue: this one does not guess what it means. */
const ODD: [string, (bytes: Buffer) => unknown, number, first?: number][] = [
  ['a code of fewer bytes', (bytes) => readCode(keys.code, sealBytes(keys.code, bytes)), 15],
  ['a code of a byte more', (bytes) => readCode(keys.code, sealBytes(keys.code, bytes)), 17],
  ['an access token of another version', readAs('uat_', keys.accessToken, readAccessToken), 50, 3],
  ['an access token with names, and without their version', readAs('uat_', keys.accessToken, readAccessToken), 58, 1],
  ['an access token without names, and with their version', readAs('uat_', keys.accessToken, readAccessToken), 50, 2],
  ['a refresh token of another version', readAs('urt_', keys.refreshToken, readRefreshToken), 80, 3],
  ['a refresh token without a method', readAs('urt_', keys.refreshToken, readRefreshToken), 70, 1],
  ['a machine token of another version', readAs('umt_', keys.machineToken, readMachineToken), 80, 2],
];

function readAs(prefix: string, sealKeys: SealKeys, read: (keys: SealKeys, text: string) => unknown) {
  return (bytes: Buffer) => read(sealKeys, prefix + sealBytes(sealKeys, bytes));
}

test.each<(typeof ODD)[number]>(ODD)('%s is none', (_, read, length, first = 0) => {
  expect(read(Buffer.alloc(length).fill(first, 0, 1))).toBeUndefined();
});
