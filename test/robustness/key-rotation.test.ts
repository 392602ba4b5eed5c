/** Rotating keys fails no call. A wrong encryption key is refused, and a damaged webhook keeps its key. */
import { generateKeyPairSync, hash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import type { Secrets } from '../../src/config/secrets.ts';
import { readUsedKeyIds } from '../../src/jobs/key-rotation.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { HttpPool } from '../support/http.ts';
import { type Load, startLoad } from '../support/load.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { RecordingDatabase } from '../support/recording-database.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  createTestWebhook,
  logIn,
  startTestService,
  type TestService,
  testConfig,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const [OLD, NEW, OTHER] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const REFUSAL =
  /^The encryption keys do not fit the database: its secrets need the key with ID [0-9a-f]{8}, and there is [0-9a-f]{8}( and [0-9a-f]{8})*$/;

type TestWebhook = Awaited<ReturnType<typeof createTestWebhook>>;
type Keys = Pick<Secrets, 'encryptionKeys' | 'authSigningKeys'>;

const ROUNDS = quickOrLong(1, 10);
/** A batch that a busy machine makes late is tried again after a minute. */
const POLL = { timeout: 150_000 };
const LONG = { timeout: quickOrLong(600_000, 900_000) };

test('no call fails while both kinds of keys are rotated on two replicas', LONG, async (context) => {
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
    expect(new Set(answers.map(({ call }) => call))).toEqual(new Set(Object.keys(replicas.calls)));
    await expect(replicas.startOne(old)).rejects.toThrow('The encryption keys do not fit the database');
  }
  report(context, {
    tried: `${ROUNDS} rotations of all keys on two replicas, ${calls} calls`,
    figures: `${replicas.webhooks.length} webhooks unchanged`,
  });
  for (const at of replicas.webhooks.keys()) expect(await replicas.read(at)).toBe('ok');
});

test('no call fails while the files of both kinds of keys change, on one replica after the other', LONG, async () => {
  await using replicas = await startReplicas();
  await replicas.restartOnFiles();
  const [old, next] = [replicas.keys, createKeys()];
  const load = startLoad(replicas.calls, { callers: 2, pauseMs: 10 });
  await replicas.rewriteAll(merge(old, next));
  await replicas.rewriteAll(merge(next, old));
  await replicas.waitUntilUnused(old);
  const before = await load.stop();
  replicas.clock.advance(15 * MINUTE);
  const later = startLoad(replicas.calls, { callers: 2, pauseMs: 10 });
  await replicas.rewriteAll(next);
  const answers = [...before, ...(await later.stop())];
  expect(answers.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  expect(new Set(answers.map(({ call }) => call))).toEqual(new Set(Object.keys(replicas.calls)));
  for (const at of replicas.webhooks.keys()) expect(await replicas.read(at)).toBe('ok');
  await expect(replicas.startOne(old)).rejects.toThrow('The encryption keys do not fit the database');
});

describe('the start', () => {
  test.each<[string, Buffer[]]>([
    ['another key', [OTHER]],
    ['several other keys', [OTHER, NEW]],
  ])('is refused with %s, in an error that shows no key', async (_, keys) => {
    await using database = await createKeyedDatabase(OLD, 10);
    const failure = await startWith(database, keys).then(
      () => expect.unreachable('it has started'),
      (error: Error) => error.message,
    );
    expect(failure).toMatch(REFUSAL);
    expect(failure).toContain(idOf(OLD));
    for (const key of [OLD, ...keys]) expect(failure).not.toContain(key.toString('hex'));
  });

  test('succeeds with any key if there are no webhooks', async () => {
    await using database = await createKeyedDatabase(OLD, 0);
    await using _ = await startWith(database, [OTHER]);
  });

  test('reads a few index pages for the check, however many webhooks there are', async (context) => {
    await using database = await createKeyedDatabase(OLD, 10);
    const count = quickOrLong(10_000, 2_000_000);
    await database.sql`
      insert into webhooks (application_id, id, url, signing_key, owner_id, created_at, updated_at)
      select application_id, id || n, url, signing_key, owner_id, created_at, updated_at
      from webhooks, generate_series(1, ${count / 10}) n`;
    await database.sql`vacuum analyze webhooks`;
    await using recording = new RecordingDatabase(database.url);
    expect(await readUsedKeyIds(recording.within(0))).toEqual(new Set([idOf(OLD)]));
    // One for each table, and one that finds no further key.
    expect(recording.sent.length).toBe(5);
    const pages: number[] = [];
    for (const { sql, parameters } of recording.sent) {
      const [row] = await database.sql.unsafe(`explain (analyze, buffers, format json) ${sql}`, [
        ...(parameters as [Buffer, number]),
      ]);
      const plan: Record<string, number> = row?.['QUERY PLAN'][0].Plan;
      pages.push((plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0));
    }
    report(context, { tried: `key check at start with ${count} webhooks`, figures: `${pages.join(' + ')} pages` });
    expect(Math.max(...pages)).toBeLessThan(20);
  });
});

test(
  'a key that is not the first stays in use for damaged signing keys, which are logged, and all others are re-encrypted',
  LONG,
  async () => {
    await using database = await createKeyedDatabase(OLD, 130);
    const damaged = database.webhooks.slice(0, 2).map(({ webhookId }) => webhookId);
    await database.sql`
    update webhooks set signing_key = signing_key || '\\x00'::bytea where id in ${database.sql(damaged)}`;
    const log = new RecordedLog();
    await using _ = await log.start({ database, config: withSecrets(database, { encryptionKeys: [NEW, OLD] }) });
    const failure = () => log.parsed.find(({ err }) => err !== undefined);
    await expect.poll(failure, POLL).toMatchObject({ err: { message: '2 secrets cannot be decrypted' } });
    expect(await countByKey(database)).toEqual({ [idOf(NEW)]: 128, [idOf(OLD)]: 2 });
    await expect(startWith(database, [NEW])).rejects.toThrow(REFUSAL);
    await database.sql`delete from webhooks where id in ${database.sql(damaged)}`;
    await using service = await startWith(database, [NEW]);
    for (const { webhookId, signingKey } of database.webhooks.slice(2, 20)) {
      const { webhook } = await clientsOf(service, database.tenant).webhooks.getWebhook({ webhookId });
      expect(webhook?.signingKey).toBe(signingKey);
    }
  },
);

// The cipher's own tests move it to another application.
test('a signing key that was moved to another webhook is not shown, and reading it is an internal error', async () => {
  await using database = await createKeyedDatabase(OLD, 2);
  const [from, to] = database.webhooks;
  await database.sql`
    update webhooks set signing_key = (select signing_key from webhooks where id = ${from?.webhookId ?? ''})
    where id = ${to?.webhookId ?? ''}`;
  await using service = await startWith(database, [OLD]);
  using pool = new HttpPool(service, { 'x-api-key': database.tenant.apiKey });
  const reply = await pool.call('GET', `/api/webhooks/${to?.webhookId}`);
  expect(reply).toEqual({ status: 500, body: { status: false, message: 'Internal error', reason: 'INTERNAL_ERROR' } });
});

/** Returns a database with an application whose webhooks are encrypted with the key. */
async function createKeyedDatabase(key: Buffer, count: number) {
  const database = await cloneDatabase();
  await using service = await startWith(database, [key]);
  const tenant = await createTenant(service);
  const { id: ownerId } = await createTestUser(service);
  const webhooks: TestWebhook[] = [];
  while (webhooks.length < count) webhooks.push(await createTestWebhook(service, tenant, { ownerId }));
  return { ...database, tenant, webhooks };
}

/** Returns how many webhooks each key has encrypted, by the ID of the key. */
async function countByKey({ sql }: TestDatabase): Promise<Record<string, number>> {
  const rows = await sql`
    select encode(substr(signing_key, 1, 4), 'hex') as key, count(*)::int as count from webhooks group by 1`;
  return Object.fromEntries(rows.map(({ key, count }) => [key, count]));
}

/** Two replicas on one database; calls alternate between them. */
async function startReplicas() {
  const database = await cloneDatabase();
  const clock = new TestClock();
  const webhooks: TestWebhook[] = [];
  let keys = createKeys();
  let logs: RecordedLog[] = [];
  const files: Config['keyFiles'][] = [];
  let callCount = 0;

  const startOne = async (secrets: Keys, keyFiles?: Config['keyFiles']): Promise<TestService> => {
    const log = new RecordedLog();
    const config = { ...withSecrets(database, secrets), ...(keyFiles && { keyFiles }) };
    const started = await log.start({ database, clock: clock.read, config });
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
    const answer = await clientsOf(next(), tenant).webhooks.getWebhook({ webhookId: webhook.webhookId });
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
        webhooks.push(await createTestWebhook(next(), tenant, { ownerId: user.id }));
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
    /** Replaces each replica by one that reads files of its own. */
    async restartOnFiles(): Promise<void> {
      logs = [];
      for (const at of [0, 1] as const) {
        files.push(await writeKeys(await createDirectory(), keys));
        await running[at].close();
        running[at] = await startOne(keys, files[at]);
      }
    },
    /** Changes the files of one replica after those of the other. Meanwhile they differ. */
    async rewriteAll(secrets: Keys): Promise<void> {
      keys = secrets;
      for (const [at, each] of files.entries()) {
        const count = () => logs[at]?.parsed.filter(({ msg }) => / keys read again$/.test(String(msg))).length ?? 0;
        const countBefore = count();
        await writeKeys(dirname(each.encryption ?? ''), secrets);
        await expect.poll(count, POLL).toBe(countBefore + 2);
      }
    },
    async waitUntilUnused({ encryptionKeys: [key = OLD] }: Keys): Promise<void> {
      const isUnused = ({ parsed }: RecordedLog) =>
        parsed.some(({ msg, keyId }) => msg === 'encryption key is not in use' && keyId === idOf(key));
      await expect.poll(() => logs.map(isUnused), POLL).toEqual([true, true]);
      // A replica that has just been replaced may have written its last webhooks with the old key.
      const usedKeys = async () => Object.keys(await countByKey(database));
      await expect.poll(usedKeys, POLL).not.toContain(idOf(key));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((service) => service.close()));
      await database[Symbol.asyncDispose]();
    },
  };
}

function startWith(database: TestDatabase, encryptionKeys: readonly Buffer[]): Promise<TestService> {
  return startTestService({ database, config: withSecrets(database, { encryptionKeys }) });
}

function withSecrets({ url }: TestDatabase, given: Partial<Keys>): Config {
  const config = testConfig(url);
  return { ...config, secrets: { ...config.secrets, ...given } };
}

/** Returns the paths of the files. */
async function writeKeys(directory: string, { authSigningKeys, encryptionKeys }: Keys): Promise<Config['keyFiles']> {
  const files = { auth: join(directory, 'auth'), encryption: join(directory, 'encryption'), oidc: undefined };
  await writeFile(files.auth, JSON.stringify({ keys: authSigningKeys }));
  await writeFile(files.encryption, encryptionKeys.map((key) => key.toString('base64')).join('\n'));
  return files;
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

function idOf(key: Buffer): string {
  return hash('sha256', key, 'hex').slice(0, 8);
}
