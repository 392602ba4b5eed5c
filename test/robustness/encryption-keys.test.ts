/** The keys that encrypt webhook signing keys: a wrong key is refused, and a damaged webhook keeps its key. */
import { hash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { readUsedKeyIds } from '../../src/jobs/key-rotation.ts';
import type { TestDatabase } from '../support/database.ts';
import { HttpPool } from '../support/http.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { RecordingDatabase } from '../support/recording-database.ts';
import { clientsOf, startTestService, type TestService, testConfig } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { countByKey, createKeyedDatabase } from '../support/webhook-rows.ts';

const [OLD, NEW, OTHER] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const REFUSAL =
  /^The encryption keys do not fit the database: webhooks need the key with ID [0-9a-f]{8}, and there is [0-9a-f]{8}( and [0-9a-f]{8})*$/;

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
    await using database = await createKeyedDatabase(OLD, 100);
    const count = quickOrLong(20_000, 2_000_000);
    await database.sql`
      insert into webhooks (application_id, id, url, signing_key, owner_id, created_at, updated_at)
      select application_id, id || n, url, signing_key, owner_id, created_at, updated_at
      from webhooks, generate_series(1, ${count / 100}) n`;
    await database.sql`vacuum analyze webhooks`;
    await using recording = new RecordingDatabase(database.url);
    expect(await readUsedKeyIds(recording.within(0))).toEqual(new Set([idOf(OLD)]));
    expect(recording.sent.length).toBe(3);
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

describe('a key that is not the first', () => {
  test('stays in use for damaged signing keys, which are logged, and all others are re-encrypted', async () => {
    await using database = await createKeyedDatabase(OLD, 700);
    const damaged = database.webhooks.slice(0, 2).map(({ id }) => id);
    await database.sql`
      update webhooks set signing_key = signing_key || '\\x00'::bytea where id in ${database.sql(damaged)}`;
    const log = new RecordedLog();
    await using _ = await log.start({ database, config: withKeys(database, [NEW, OLD]) });
    const failure = () => log.parsed.find(({ err }) => err !== undefined);
    await expect.poll(failure).toMatchObject({ err: { message: '2 signing keys cannot be decrypted' } });
    expect(await countByKey(database)).toEqual({ [idOf(NEW)]: 698, [idOf(OLD)]: 2 });
    await expect(startWith(database, [NEW])).rejects.toThrow(REFUSAL);
    await database.sql`delete from webhooks where id in ${database.sql(damaged)}`;
    await using service = await startWith(database, [NEW]);
    for (const { id, signingKey } of database.webhooks.slice(2, 20)) {
      const { webhook } = await clientsOf(service, database).webhooks.getWebhook({ webhookId: id });
      expect(webhook?.signingKey).toBe(signingKey);
    }
  });
});

// The cipher's own tests move it to another application.
test('a signing key that was moved to another webhook is not shown, and reading it is an internal error', async () => {
  await using database = await createKeyedDatabase(OLD, 2);
  const [from, to] = database.webhooks;
  await database.sql`
    update webhooks set signing_key = (select signing_key from webhooks where id = ${from?.id ?? ''})
    where id = ${to?.id ?? ''}`;
  await using service = await startWith(database, [OLD]);
  using pool = new HttpPool(service, { 'x-api-key': database.apiKey });
  const reply = await pool.call('GET', `/api/webhooks/${to?.id}`);
  expect(reply).toEqual({ status: 500, body: { status: false, message: 'Internal error', reason: 'INTERNAL_ERROR' } });
});

function startWith(database: TestDatabase, encryptionKeys: readonly Buffer[]): Promise<TestService> {
  return startTestService({ database, config: withKeys(database, encryptionKeys) });
}

function withKeys({ url }: TestDatabase, encryptionKeys: readonly Buffer[]): Config {
  const config = testConfig(url);
  return { ...config, secrets: { ...config.secrets, encryptionKeys } };
}

function idOf(key: Buffer): string {
  return hash('sha256', key, 'hex').slice(0, 8);
}
