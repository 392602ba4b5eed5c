/** Rotating the encryption and signing keys, one replica after the other, fails no call. */
import { generateKeyPairSync, hash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Secrets } from '../../src/config/secrets.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { type Load, startLoad } from '../support/load.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  type Tenant,
  type TestService,
  type TestUser,
  testConfig,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { countByKey } from '../support/webhook-rows.ts';

type Keys = Pick<Secrets, 'encryptionKeys' | 'authSigningKeys'>;

const ROUNDS = quickOrLong(1, 10);

test('no call fails while both kinds of keys are rotated on two replicas', { timeout: 300_000 }, async (context) => {
  await using replicas = await Replicas.start();
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
    figures: `${replicas.webhookCount} webhooks unchanged`,
  });
  await replicas.readAllWebhooks();
});

/** Two replicas on one database; calls alternate between them. */
class Replicas implements AsyncDisposable {
  readonly clock = new TestClock();
  readonly #webhooks: { id: string; signingKey: string }[] = [];
  readonly #database: TestDatabase;
  #logs: RecordedLog[] = [];
  #running: TestService[] = [];
  #callCount = 0;
  #tenant: Tenant | undefined;
  #user: TestUser | undefined;
  keys = createKeys();

  private constructor(database: TestDatabase) {
    this.#database = database;
  }

  static async start(): Promise<Replicas> {
    const replicas = new Replicas(await cloneDatabase());
    replicas.#running = [await replicas.startOne(replicas.keys), await replicas.startOne(replicas.keys)];
    replicas.#tenant = await createTenant(replicas.#next());
    replicas.#user = await createTestUser(replicas.#next());
    return replicas;
  }

  async startOne(keys: Keys): Promise<TestService> {
    const config = testConfig(this.#database.url);
    const log = new RecordedLog();
    const started = await log.start({
      database: this.#database,
      clock: this.clock.read,
      config: { ...config, secrets: { ...config.secrets, ...keys } },
    });
    this.#logs.push(log);
    return started;
  }

  /** Replaces each replica by a new one, and closes it when it has no calls left. */
  async replaceAll(keys: Keys, load: Load): Promise<void> {
    this.keys = keys;
    this.#logs = [];
    for (let at = 0; at < 2; at++) {
      const [leaving] = this.#running;
      const started = await this.startOne(keys);
      this.#running = [...this.#running.slice(1), started];
      const leftAt = performance.now();
      while (load.waits().some((waitedMs) => waitedMs > performance.now() - leftAt)) await sleep(5);
      await leaving?.close();
    }
  }

  async waitUntilUnused(keys: Keys): Promise<void> {
    const isLogged = () =>
      this.#logs.map((log) =>
        log.parsed.some(({ msg, keyId }) => msg === 'encryption key is not in use' && keyId === idOf(keys)),
      );
    await expect.poll(isLogged, { timeout: 20_000 }).toEqual([true, true]);
    // A replica that has just been replaced may have written its last webhooks with the old key.
    await expect
      .poll(async () => Object.keys(await countByKey(this.#database)), { timeout: 20_000 })
      .not.toContain(idOf(keys));
  }

  readonly calls = {
    createWebhook: async () => {
      const { webhooks } = clientsOf(this.#next(), this.#fixture.tenant);
      const { webhook } = await webhooks.createWebhook({ url: 'https://hooks.test', ownerId: this.#fixture.user.id });
      this.#webhooks.push({ id: webhook?.webhookId ?? '', signingKey: webhook?.signingKey ?? '' });
      return 'ok';
    },
    getWebhook: async () => this.#read(Math.floor(Math.random() * this.#webhooks.length)),
    /** One replica issues the token and the other verifies it. */
    logIn: async () => {
      const { tenant, user } = this.#fixture;
      const authToken = await logIn(this.#next(), tenant, user);
      const { user: found } = await clientsOf(this.#next(), tenant).auth.exchangeToken({ authToken });
      return found?.email === user.email ? 'ok' : 'another user';
    },
  };

  get webhookCount(): number {
    return this.#webhooks.length;
  }

  async readAllWebhooks(): Promise<void> {
    for (const at of this.#webhooks.keys()) expect(await this.#read(at)).toBe('ok');
  }

  readonly [Symbol.asyncDispose] = async () => {
    await Promise.all(this.#running.map((service) => service.close()));
    await this.#database[Symbol.asyncDispose]();
  };

  async #read(at: number): Promise<string> {
    const webhook = this.#webhooks[at];
    if (!webhook) return 'ok';
    const { webhooks } = clientsOf(this.#next(), this.#fixture.tenant);
    const answer = await webhooks.getWebhook({ webhookId: webhook.id });
    return answer.webhook?.signingKey === webhook.signingKey ? 'ok' : 'another signing key';
  }

  get #fixture(): { tenant: Tenant; user: TestUser } {
    if (!this.#tenant || !this.#user) throw new Error('Not started');
    return { tenant: this.#tenant, user: this.#user };
  }

  #next(): TestService {
    const next = this.#running[this.#callCount++ % this.#running.length];
    if (!next) throw new Error('Not started');
    return next;
  }
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
