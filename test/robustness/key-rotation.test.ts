/** Rotating the encryption and signing keys, one replica after the other, fails no call. */
import { generateKeyPairSync, hash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Secrets } from '../../src/config/secrets.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { cloneDatabase } from '../support/database.ts';
import { type Load, startLoad } from '../support/load.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  createTestWebhook,
  logIn,
  type TestService,
  testConfig,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { countByKey } from '../support/webhook-rows.ts';

type Keys = Pick<Secrets, 'encryptionKeys' | 'authSigningKeys'>;

const ROUNDS = quickOrLong(1, 10);

test('no call fails while both kinds of keys are rotated on two replicas', { timeout: 300_000 }, async (context) => {
  await using replicas = await startReplicas();
  let calls = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const old = replicas.keys;
    const next = createKeys();
    const load = startLoad(replicas.calls, { callers: 2, pauseMs: 10 });
    await replicas.replaceAll(merge(old, next), load);
    await replicas.replaceAll(merge(next, old), load);
    await replicas.waitUntilUnused(old);
    const before = await load.stop();
    replicas.clock.advance(15 * MINUTE);
    const later = startLoad(replicas.calls, { callers: 2, pauseMs: 10 });
    await replicas.replaceAll(next, later);
    const answers = [...before, ...(await later.stop())];
    calls += answers.length;
    expect(answers.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
    expect(answers.length).toBeGreaterThan(20);
    await expect(replicas.startOne(old)).rejects.toThrow('The encryption keys do not fit the database');
  }
  report(context, {
    tried: `${ROUNDS} rotations of all keys on two replicas, ${calls} calls`,
    figures: `${replicas.webhooks.length} webhooks unchanged`,
  });
  for (const at of replicas.webhooks.keys()) expect(await replicas.read(at)).toBe('ok');
});

/** Two replicas on one database; calls alternate between them. */
async function startReplicas() {
  const database = await cloneDatabase();
  const clock = new TestClock();
  const webhooks: { id: string; signingKey: string }[] = [];
  let keys = createKeys();
  let logs: RecordedLog[] = [];
  let callCount = 0;

  const startOne = async (secrets: Keys): Promise<TestService> => {
    const config = testConfig(database.url);
    const log = new RecordedLog();
    const options = { database, clock: clock.read, config: { ...config, secrets: { ...config.secrets, ...secrets } } };
    const started = await log.start(options);
    logs.push(log);
    return started;
  };
  const running: [TestService, TestService] = [await startOne(keys), await startOne(keys)];
  const next = () => running[callCount++ % 2 === 0 ? 0 : 1];
  const tenant = await createTenant(next());
  const user = await createTestUser(next());

  const read = async (at: number): Promise<string> => {
    const webhook = webhooks[at];
    if (!webhook) return 'ok';
    const answer = await clientsOf(next(), tenant).webhooks.getWebhook({ webhookId: webhook.id });
    return answer.webhook?.signingKey === webhook.signingKey ? 'ok' : 'another signing key';
  };
  return {
    clock,
    webhooks,
    startOne,
    read,
    get keys(): Keys {
      return keys;
    },
    calls: {
      createWebhook: async () => {
        const { webhookId, signingKey } = await createTestWebhook(next(), tenant, { ownerId: user.id });
        webhooks.push({ id: webhookId, signingKey });
        return 'ok';
      },
      getWebhook: () => read(Math.floor(Math.random() * webhooks.length)),
      /** One replica issues the token and the other verifies it. */
      logIn: async () => {
        const authToken = await logIn(next(), tenant, user);
        const { user: found } = await clientsOf(next(), tenant).auth.exchangeToken({ authToken });
        return found?.email === user.email ? 'ok' : 'another user';
      },
    },
    /** Replaces each replica by a new one, and closes it when it has no calls left. */
    async replaceAll(secrets: Keys, load: Load): Promise<void> {
      keys = secrets;
      logs = [];
      for (const at of [0, 1] as const) {
        const replaced = running[at];
        running[at] = await startOne(keys);
        const leftAt = performance.now();
        while (load.waits().some((waitedMs) => waitedMs > performance.now() - leftAt)) await sleep(5);
        await replaced.close();
      }
    },
    async waitUntilUnused(secrets: Keys): Promise<void> {
      const isUnused = ({ parsed }: RecordedLog) =>
        parsed.some(({ msg, keyId }) => msg === 'encryption key is not in use' && keyId === idOf(secrets));
      await expect.poll(() => logs.map(isUnused)).toEqual([true, true]);
      // A replica that has just been replaced may have written its last webhooks with the old key.
      const usedKeys = async () => Object.keys(await countByKey(database));
      await expect.poll(usedKeys).not.toContain(idOf(secrets));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((service) => service.close()));
      await database[Symbol.asyncDispose]();
    },
  };
}

function createKeys(): Keys {
  const { privateKey } = generateKeyPairSync('ed25519');
  const kid = randomBytes(8).toString('hex');
  return {
    encryptionKeys: [randomBytes(32)],
    authSigningKeys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'EdDSA', kid }],
  };
}

function merge(first: Keys, second: Keys): Keys {
  return {
    encryptionKeys: [...first.encryptionKeys, ...second.encryptionKeys],
    authSigningKeys: [...first.authSigningKeys, ...second.authSigningKeys],
  };
}

function idOf({ encryptionKeys: [key] }: Keys): string {
  return hash('sha256', key ?? '', 'hex').slice(0, 8);
}
