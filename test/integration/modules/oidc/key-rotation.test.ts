/** Replicas with different keys, as they are while keys rotate, and with different clocks: everybody stays signed in until they sign out. */
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  type JSONWebKeySet,
  jwtVerify,
} from 'jose';
import { afterAll, expect, test } from 'vitest';
import { createTemporaryDirectory } from '../../../../src/testing/temporary-directory.ts';
import { cloneDatabase } from '../../../support/database.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { createOidcTenant, getUserinfo, redeem, refresh, signInForCode } from '../../../support/oidc-client.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import {
  createTestUser,
  PUBLIC_URL,
  startTestService,
  type TestService,
  testConfig,
} from '../../../support/service.ts';

const rsa = { old: createRsaJwk('old'), new: createRsaJwk('new') };
const encryption = { old: randomBytes(32), new: randomBytes(32) };
type Age = keyof typeof rsa;

const stack = new AsyncDisposableStack();
const database = stack.use(await cloneDatabase());
const like = testConfig(database.url);
afterAll(() => stack.disposeAsync());

/** Starts a replica with these keys, of which the first signs. */
async function startReplica(ages: readonly Age[], overrides: { clock?: () => Date } = {}): Promise<TestService> {
  const oidcSigningKeys = ages.map((age) => rsa[age]);
  const secrets = { ...like.secrets, oidcSigningKeys, encryptionKeys: ages.map((age) => encryption[age]) };
  return stack.use(await startTestService({ database, like, config: { secrets }, ...overrides }));
}

const [before, added, moved, after] = await Promise.all([
  startReplica(['old']),
  startReplica(['old', 'new']),
  startReplica(['new', 'old']),
  startReplica(['new']),
]);
const tenant = await createOidcTenant(before);
const user = await createTestUser(before);
const expected = { issuer: PUBLIC_URL, audience: tenant.clientId, subject: user.id };

async function signIn(at: TestService, { redeemsAt = at } = {}) {
  const reply = await redeem(redeemsAt, tenant, await signInForCode(at, tenant, user, { browser: 'a cookie' }));
  expect(reply).toMatchObject({ status: 200 });
  return reply.body;
}

const readKeys = async ({ url }: TestService) => (await (await fetch(`${url}/oidc/jwks`)).json()) as JSONWebKeySet;

const signOut = async (at: TestService, idToken: string | undefined) =>
  (await new LoginBrowser(at).open(`/oidc/logout?id_token_hint=${idToken}`)).heading;

// Two rounds of restarts, in which each replica runs beside one of the next round.
test.each([
  ['the second key is added', before, added, 'old', 'old'],
  ['it is moved to the front', added, moved, 'old', 'new'],
  ['the old key is removed', moved, after, 'new', 'new'],
] as const)('while %s, a login goes on at either replica', async (_, first, second, firstKey, secondKey) => {
  for (const [here, there, kid] of [
    [first, second, firstKey],
    [second, first, secondKey],
  ] as const) {
    const tokens = await signIn(there, { redeemsAt: here });
    expect(decodeProtectedHeader(tokens.id_token ?? '').kid).toBe(kid);
    for (const replica of [here, there]) {
      const keys = createLocalJWKSet(await readKeys(replica));
      expect(await jwtVerify(tokens.id_token ?? '', keys, expected)).toMatchObject({ payload: { sub: user.id } });
      expect(await getUserinfo(replica, tokens.access_token)).toMatchObject({ status: 200 });
      expect(await refresh(replica, tenant, tokens.refresh_token)).toMatchObject({ status: 200 });
    }
    expect(await signOut(there, tokens.id_token)).toBe('You are signed out');
    expect(await refresh(here, tenant, tokens.refresh_token)).toMatchObject({ status: 400 });
  }
});

test('what one replica has ended is over at another whose clock is behind', async () => {
  const behind = await startReplica(['old'], { clock: () => new Date(Date.now() - 200) });
  const tokens = await signIn(before);
  expect(await refresh(behind, tenant, tokens.refresh_token)).toMatchObject({ status: 200 });
  expect(await signOut(before, tokens.id_token)).toBe('You are signed out');
  expect(await refresh(behind, tenant, tokens.refresh_token)).toMatchObject({ status: 400 });
});

test('a client that has kept the key set reads it again when it meets the new key', async () => {
  const replicas = [before, added];
  const keys = createRemoteJWKSet(new URL(`${PUBLIC_URL}/oidc/jwks`), {
    cooldownDuration: 0,
    [customFetch]: async () => Response.json(await readKeys(replicas.shift() ?? after)),
  });
  for (const at of [before, before, moved, moved]) {
    expect(await jwtVerify((await signIn(at)).id_token ?? '', keys, expected)).toBeTruthy();
  }
  expect(replicas).toEqual([]);
});

test('a file of keys that has changed counts without a restart, and without one nothing is read', async () => {
  const directory = await createTemporaryDirectory();
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const oidc = join(directory, 'keys.json');
  await writeFile(oidc, JSON.stringify({ keys: [rsa.new, rsa.old] }));
  const secrets = { ...like.secrets, oidcSigningKeys: [rsa.old], encryptionKeys: [encryption.old] };
  const log = new RecordedLog('error');
  const config = { secrets, keyFiles: { auth: undefined, encryption: undefined, oidc: undefined } };
  stack.use(await log.start({ database, like, config }));
  const watching = stack.use(
    await startTestService({ database, like, config: { ...config, keyFiles: { ...config.keyFiles, oidc } } }),
  );
  const readIds = async () => (await readKeys(watching)).keys.map(({ kid }) => kid);
  // Each file is read twice, a second apart.
  await expect.poll(readIds, { timeout: 20_000 }).toEqual(['new', 'old']);
  expect(log.lines).toEqual([]);
});

test('once the old key is removed, what it has signed is worth nothing', async () => {
  const tokens = await signIn(before);
  expect((await readKeys(after)).keys.map(({ kid }) => kid)).toEqual(['new']);
  expect(await signOut(after, tokens.id_token)).toBe('You may still be signed in');
  expect(await refresh(after, tenant, tokens.refresh_token)).toMatchObject({ status: 400 });
  expect(await refresh(before, tenant, tokens.refresh_token)).toMatchObject({ status: 200 });
});
