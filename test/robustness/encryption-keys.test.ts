/** The keys that webhook signing keys are encrypted with: the wrong ones, and new ones for old. */
import { hash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { createApplication } from '../../src/domain/applications/create-application.ts';
import { SigningKeyCipher } from '../../src/domain/webhooks/signing-key-cipher.ts';
import { readUsedKeyIds, runKeyRotation } from '../../src/jobs/key-rotation.ts';
import type { TestDatabase } from '../support/database.ts';
import { HttpPool } from '../support/http-pool.ts';
import { startLoad } from '../support/load.ts';
import { LogLeakProbe } from '../support/log-leak-probe.ts';
import { runMain } from '../support/process.ts';
import { RecordingDatabase } from '../support/recording-database.ts';
import { startTestService, type TestService, testConfig } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { countByKey, createKeyedDatabase, type KeyedDatabase, type PlantedWebhook } from '../support/webhook-rows.ts';

const [OLD, NEW, OTHER] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const REFUSAL =
  /^The encryption keys do not fit the database: webhooks need the key with ID [0-9a-f]{8}, and there is [0-9a-f]{8}( and [0-9a-f]{8})*$/;

describe('at the start', () => {
  test.each<[string, Buffer[]]>([
    ['another key', [OTHER]],
    ['only a new key', [NEW]],
    ['several keys, none of them right', [OTHER, NEW]],
  ])('%s is refused, in a line that shows no key', async (_, keys) => {
    await using database = await createKeyedDatabase(OLD, 10);
    const failure = await startWith(database, keys).then(
      () => expect.unreachable('it has started'),
      (error: Error) => error.message,
    );
    expect(failure).toMatch(REFUSAL);
    expect(failure).toContain(idOf(OLD));
    for (const key of [OLD, ...keys]) expect(failure).not.toContain(key.toString('hex'));
  });

  test('the refusal is all that the process writes, and its exit code is 1', async () => {
    await using database = await createKeyedDatabase(OLD, 1);
    const directory = await mkdtemp(join(tmpdir(), 'usher-keys-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = async (name: string, text: string) => {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    };
    const env = {
      PORT: '0',
      DATABASE_URL: database.url,
      ADMIN_KEY: randomBytes(32).toString('hex'),
      AUTH_SIGNING_KEYS_FILE: await file(
        'jwks',
        JSON.stringify({ keys: testConfig(database.url).secrets.authSigningKeys }),
      ),
      ENCRYPTION_KEY_FILE: await file('key', OTHER.toString('base64')),
    };
    const { exitCode, stdout, stderr } = await runMain({ env });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^usher: The encryption keys do not fit the database: .*\n$/);
    expect(stderr).not.toContain(OTHER.toString('base64'));
  });

  test('any key will do where there is no webhook', async () => {
    await using database = await createKeyedDatabase(OLD, 0);
    await using _ = await startWith(database, [OTHER]);
  });

  test('a database from before the check is taken as it is, or refused', async () => {
    await using database = await createKeyedDatabase(OLD, 100);
    await database.sql`drop index webhooks_encryption_key_idx`;
    // What came after it is undone as well, and all of it is done again.
    await database.sql`
      alter table login_codes add constraint login_codes_user_id_users_id_fk foreign key (user_id) references users`;
    await database.sql`create index login_codes_user_id_idx on login_codes (user_id)`;
    await database.sql`delete from drizzle.__drizzle_migrations where id > 2`;
    await expect(startWith(database, [OTHER])).rejects.toThrow(REFUSAL);
    await using again = await startWith(database, [OLD]);
    for (const webhook of database.webhooks.slice(0, 5))
      expect(await read(again, database, webhook)).toBe(webhook.signingKey);
  });

  test('the check reads a few pages of an index, however many webhooks there are', async (context) => {
    await using database = await createKeyedDatabase(OLD, 100);
    const count = quickOrLong(20_000, 2_000_000);
    await database.sql`
      insert into webhooks (application_id, id, url, signing_key, owner_id, created_at, updated_at)
      select application_id, id || n, url, signing_key, owner_id, created_at, updated_at
      from webhooks, generate_series(1, ${count / 100}) n`;
    await database.sql`vacuum analyze webhooks`;
    await using recording = new RecordingDatabase(database.url);
    const startedAt = performance.now();
    expect(await readUsedKeyIds(recording.within(0))).toEqual(new Set([idOf(OLD)]));
    const tookMs = performance.now() - startedAt;
    expect(recording.sent.length).toBe(2);
    const pages: number[] = [];
    for (const { sql, parameters } of recording.sent) {
      const [row] = await database.sql.unsafe(`explain (analyze, buffers, format json) ${sql}`, [
        ...(parameters as [Buffer, number]),
      ]);
      const plan: Record<string, number> = row?.['QUERY PLAN'][0].Plan;
      pages.push((plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0));
    }
    const figures = `${pages.join(' + ')} pages, ${tookMs.toFixed(1)} ms`;
    report(context, { tried: `start check on ${count} webhooks`, lost: 'nothing', figures });
    expect(Math.max(...pages)).toBeLessThan(20);
  });
});

describe('a key that is not the first', () => {
  test('is retired by two instances at once, under load: no read fails, and both tell when it is done', async (context) => {
    const count = quickOrLong(1_200, 40_000);
    await using database = await createKeyedDatabase(OLD, count);
    const logs = [new LogLeakProbe(), new LogLeakProbe()];
    const both = await Promise.all(logs.map((log) => log.start({ database, config: withKeys(database, [NEW, OLD]) })));
    const pools = both.map((each) => new HttpPool(each, { 'x-api-key': database.apiKey }));
    let next = 0;
    const readNext = async () => {
      const webhook = database.webhooks[next++ % count];
      const pool = pools[next % 2];
      if (!webhook || !pool) return 'nothing to read';
      const { status, body } = await pool.call<WebhookReply>('GET', `/api/webhooks/${webhook.id}`);
      return status === 200 && body.data.signingKey === webhook.signingKey ? 'right' : `${status}`;
    };
    const load = startLoad({ readNext }, { callers: 4 });
    const states = () => logs.map((log) => log.parsed.filter(({ keyId }) => keyId === idOf(OLD)).map(({ msg }) => msg));
    const done = ['encryption key is being retired', 'encryption key is not in use'];
    await expect.poll(states, { timeout: quickOrLong(15_000, 300_000), interval: 50 }).toEqual([done, done]);
    const answers = await load.stop();
    const wrong = answers.filter(({ outcome }) => outcome !== 'right');
    report(context, {
      tried: `${count} signing keys encrypted anew by two instances, ${answers.length} reads meanwhile`,
      lost: wrong.length === 0 ? 'nothing' : `${wrong.length} reads`,
    });
    expect(wrong).toEqual([]);
    expect(await countByKey(database)).toEqual({ [idOf(NEW)]: count });
    for (const pool of pools) pool[Symbol.dispose]();
    await Promise.all(both.map((each) => each.close()));
    await using without = await startWith(database, [NEW]);
    for (const webhook of database.webhooks.slice(0, 20))
      expect(await read(without, database, webhook)).toBe(webhook.signingKey);
    await expect(startWith(database, [OLD])).rejects.toThrow(REFUSAL);
  });

  test('and came into use only after the start is left alone: it is the next one', async () => {
    await using database = await createKeyedDatabase(NEW, 5);
    await using recording = new RecordingDatabase(database.url);
    const told: string[] = [];
    await runKeyRotation(recording, new SigningKeyCipher([OLD, NEW]), new Set(), {
      signal: AbortSignal.timeout(5_000),
      tell: (keyId, state) => told.push(`${keyId} ${state}`),
      onError: (error) => told.push(String(error)),
    });
    expect(told).toEqual([`${idOf(NEW)} is not in use`]);
    expect(recording.sent).toEqual([]);
  });

  test('and is in no use at the start is told to be so', async () => {
    await using database = await createKeyedDatabase(OLD, 0);
    const log = new LogLeakProbe();
    await using _ = await log.start({ database, config: withKeys(database, [OLD, NEW]) });
    const told = () => log.parsed.filter(({ keyId }) => keyId === idOf(NEW)).map(({ msg }) => msg);
    await expect.poll(told).toEqual(['encryption key is not in use']);
  });

  test('stays in use by what cannot be decrypted, and that is told, and all else is encrypted anew', async () => {
    await using database = await createKeyedDatabase(OLD, 700);
    const damaged = database.webhooks.slice(0, 2).map(({ id }) => id);
    await database.sql`
      update webhooks set signing_key = signing_key || '\\x00'::bytea where id in ${database.sql(damaged)}`;
    const log = new LogLeakProbe();
    await using _ = await log.start({ database, config: withKeys(database, [NEW, OLD]) });
    await expect.poll(() => log.parsed.map(({ msg }) => msg)).toContain('encrypting anew failed');
    expect(log.parsed.find(({ msg }) => msg === 'encrypting anew failed')).toMatchObject({
      err: { message: '2 signing keys cannot be decrypted' },
    });
    expect(await countByKey(database)).toEqual({ [idOf(NEW)]: 698, [idOf(OLD)]: 2 });
  });
});

describe('a signing key that was moved', () => {
  test.each<[string, (database: KeyedDatabase) => Promise<PlantedWebhook>]>([
    ['to another webhook', moveWithinApplication],
    ['to the webhook of that ID of another application', moveToOtherApplication],
  ])('%s is an internal error there, and is not shown', async (_, move) => {
    await using database = await createKeyedDatabase(OLD, 2);
    const moved = await move(database);
    await using service = await startWith(database, [OLD]);
    using pool = new HttpPool(service, { 'x-api-key': database.apiKey });
    const reply = await pool.call('GET', `/api/webhooks/${moved.id}`);
    expect(reply).toEqual({ status: 500, body: { status: false, message: 'Internal error' } });
  });
});

async function moveWithinApplication({ sql, webhooks: [from, to] }: KeyedDatabase): Promise<PlantedWebhook> {
  if (!from || !to) throw new Error('There are no webhooks');
  await sql`update webhooks set signing_key = (select signing_key from webhooks where id = ${from.id}) where id = ${to.id}`;
  return to;
}

/** The caller's application gets the row that another one had. */
async function moveToOtherApplication({ sql, webhooks: [moved], call, ownerId }: KeyedDatabase) {
  if (!moved) throw new Error('There are no webhooks');
  const { application } = await createApplication(call, { name: 'Other', redirectUris: ['https://other.test'] });
  const place = { applicationId: application.id, webhookId: moved.id };
  const theirs = new SigningKeyCipher([OLD]).encrypt(moved.signingKey, place);
  await sql`update webhooks set signing_key = ${theirs} where id = ${moved.id} and owner_id = ${ownerId}`;
  return moved;
}

function startWith(database: TestDatabase, encryptionKeys: readonly Buffer[]): Promise<TestService> {
  return startTestService({ database, config: withKeys(database, encryptionKeys) });
}

function withKeys({ url }: TestDatabase, encryptionKeys: readonly Buffer[]): Config {
  const config = testConfig(url);
  return { ...config, secrets: { ...config.secrets, encryptionKeys } };
}

/** The signing key as the service shows it. */
async function read(service: TestService, { apiKey }: KeyedDatabase, { id }: PlantedWebhook): Promise<string> {
  using pool = new HttpPool(service, { 'x-api-key': apiKey });
  const { body } = await pool.call<WebhookReply>('GET', `/api/webhooks/${id}`);
  return body.data.signingKey;
}

interface WebhookReply {
  readonly data: { readonly signingKey: string };
}

function idOf(key: Buffer): string {
  return hash('sha256', key, 'hex').slice(0, 8);
}
