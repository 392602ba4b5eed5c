/** New keys for old, as "In production" tells it: one instance after the other, and nobody notices. */
import { generateKeyPairSync, hash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JWK } from 'jose';
import { expect, test } from 'vitest';
import type { Secrets } from '../../src/config/secrets.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { cloneDatabase } from '../support/database.ts';
import { type Load, startLoad } from '../support/load.ts';
import { LogLeakProbe } from '../support/log-leak-probe.ts';
import {
  adminClient,
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

test('both kinds of keys are replaced under load, one instance after the other, and no call fails', async (context) => {
  await using fleet = await Fleet.start();
  let calls = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const old = fleet.keys;
    const next = makeKeys();
    const load = startLoad(fleet.calls, { callers: 2, pauseMs: 10 });
    await fleet.roll(merge(old, next), load);
    await fleet.roll(merge(next, old), load);
    await fleet.waitUntilRetired(old);
    const before = await load.stop();
    fleet.clock.advance(15 * MINUTE);
    const later = startLoad(fleet.calls, { callers: 2, pauseMs: 10 });
    await fleet.roll(next, later);
    const answers = [...before, ...(await later.stop())];
    calls += answers.length;
    expect(answers.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
    expect(answers.length).toBeGreaterThan(20);
    await expect(fleet.startOne(old)).rejects.toThrow('The encryption keys do not fit the database');
  }
  const figures = `${fleet.webhookCount} webhooks are as they were`;
  report(context, {
    tried: `${ROUNDS} rotations of all keys on two instances, ${calls} calls`,
    lost: 'nothing',
    figures,
  });
  await fleet.readAllWebhooks();
}, 300_000);

test('the old key cannot be dropped as long as a signing key needs it', async () => {
  await using fleet = await Fleet.start();
  const old = fleet.keys;
  await fleet.calls.createWebhook();
  await expect(fleet.startOne(makeKeys())).rejects.toThrow(
    `The encryption keys do not fit the database: webhooks need the key with ID ${idOf(old)}`,
  );
});

/** Two instances on one database, behind one address. */
class Fleet implements AsyncDisposable {
  readonly clock = new TestClock();
  readonly #webhooks: { id: string; signingKey: string }[] = [];
  readonly #database;
  #logs: LogLeakProbe[] = [];
  #instances: TestService[] = [];
  #turn = 0;
  #tenant: Tenant | undefined;
  #user: TestUser | undefined;
  keys = makeKeys();

  private constructor(database: Awaited<ReturnType<typeof cloneDatabase>>) {
    this.#database = database;
  }

  static async start(): Promise<Fleet> {
    const fleet = new Fleet(await cloneDatabase());
    fleet.#instances = [await fleet.startOne(fleet.keys), await fleet.startOne(fleet.keys)];
    fleet.#tenant = await createTenant(fleet.#next());
    fleet.#user = await createTestUser(fleet.#next());
    return fleet;
  }

  async startOne(keys: Keys): Promise<TestService> {
    const config = testConfig(this.#database.url);
    const log = new LogLeakProbe();
    const started = await log.start({
      database: this.#database,
      clock: this.clock.read,
      config: { ...config, secrets: { ...config.secrets, ...keys } },
    });
    this.#logs.push(log);
    return started;
  }

  /** A new instance takes the place of each, which is closed once nobody calls it any more. */
  async roll(keys: Keys, load: Load): Promise<void> {
    this.keys = keys;
    this.#logs = [];
    for (let at = 0; at < 2; at++) {
      const [leaving] = this.#instances;
      const coming = await this.startOne(keys);
      this.#instances = [...this.#instances.slice(1), coming];
      const leftAt = performance.now();
      while (load.waits().some((waitedMs) => waitedMs > performance.now() - leftAt)) await sleep(5);
      await leaving?.close();
    }
  }

  async waitUntilRetired(keys: Keys): Promise<void> {
    const told = () =>
      this.#logs.map((log) =>
        log.parsed.some(({ msg, keyId }) => msg === 'encryption key is not in use' && keyId === idOf(keys)),
      );
    await expect.poll(told, { timeout: 20_000 }).toEqual([true, true]);
    // What a leaving instance has written in the end follows soon.
    await expect
      .poll(async () => Object.keys(await countByKey(this.#database)), { timeout: 20_000 })
      .not.toContain(idOf(keys));
  }

  readonly calls = {
    createWebhook: async () => {
      const { tenant, user } = this.#people;
      const { webhook } = await clientsOf(this.#next(), tenant).webhooks.createWebhook({
        url: 'https://hooks.test',
        ownerId: user.id,
      });
      this.#webhooks.push({ id: webhook?.webhookId ?? '', signingKey: webhook?.signingKey ?? '' });
      return 'ok';
    },
    getWebhook: async () => this.#read(Math.floor(Math.random() * this.#webhooks.length)),
    /** The token is minted by one and verified by the other. */
    logIn: async () => {
      const { tenant, user } = this.#people;
      const authToken = await logIn(this.#next(), tenant, user);
      const { user: told } = await clientsOf(this.#next(), tenant).auth.exchangeToken({ authToken });
      return told?.email === user.email ? 'ok' : 'another user';
    },
    admit: async () => {
      await adminClient(this.#next()).createUser({
        email: `${randomBytes(6).toString('hex')}@a.test`,
        walletAddress: '0x',
      });
      return 'ok';
    },
  };

  get webhookCount(): number {
    return this.#webhooks.length;
  }

  async readAllWebhooks(): Promise<void> {
    for (const at of this.#webhooks.keys()) expect(await this.#read(at)).toBe('ok');
  }

  readonly [Symbol.asyncDispose] = async () => {
    await Promise.all(this.#instances.map((instance) => instance.close()));
    await this.#database[Symbol.asyncDispose]();
  };

  async #read(at: number): Promise<string> {
    const webhook = this.#webhooks[at];
    if (!webhook) return 'ok';
    const { webhooks } = clientsOf(this.#next(), this.#people.tenant);
    const answer = await webhooks.getWebhook({ webhookId: webhook.id });
    return answer.webhook?.signingKey === webhook.signingKey ? 'ok' : 'another signing key';
  }

  get #people(): { tenant: Tenant; user: TestUser } {
    if (!this.#tenant || !this.#user) throw new Error('Nobody is there yet');
    return { tenant: this.#tenant, user: this.#user };
  }

  #next(): TestService {
    const next = this.#instances[this.#turn++ % this.#instances.length];
    if (!next) throw new Error('No instance is there');
    return next;
  }
}

function makeKeys(): Keys {
  const { privateKey } = generateKeyPairSync('ed25519');
  const signingKey: JWK = {
    ...privateKey.export({ format: 'jwk' }),
    alg: 'EdDSA',
    kid: randomBytes(8).toString('hex'),
  };
  return { encryptionKeys: [randomBytes(32)], authSigningKeys: [signingKey] };
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
