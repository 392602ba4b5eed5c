/** What jobs do with the rows of webhooks: retention, and encryption of earlier signing keys. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { RowCipher } from '../../../src/domain/crypto/aes-gcm.ts';
import { removeExpired } from '../../../src/jobs/expiry.ts';
import { readUsedKeyIds, runKeyRotation } from '../../../src/jobs/key-rotation.ts';
import { HOUR } from '../../support/clock.ts';
import { LAYOUT } from '../../support/database.ts';
import { clientsOf, createTenant, createTestWebhook, startTestService } from '../../support/service.ts';

const DAY = 24 * HOUR;

test('keeps attempts for 14 days, and deliveries and messages for the length of the retry schedule longer', async () => {
  await using service = await startTestService();
  const { sql } = service.database;
  await using database = openDatabase(service.database.url);
  const now = new Date();
  for (const days of [13, 15, 17, 19]) {
    const at = new Date(now.getTime() - days * DAY);
    await sql`
      with message as (
        insert into webhook_messages (application_id, type, payload, created_at)
        values (gen_random_uuid(), 'event.created', ${String(days)}, ${at}) returning *
      ), delivery as (
        insert into webhook_deliveries (application_id, webhook_id, message_id, created_at)
        select application_id, 'wh', id, created_at from message returning *
      )
      insert into webhook_attempts (application_id, webhook_id, message_id, attempted_at, duration_ms)
      select application_id, webhook_id, message_id, created_at, 1 from delivery`;
  }
  await removeExpired(database, { now, webhookLogDays: 14 });
  const ages = async (table: string, column: string) => {
    const rows = await sql`select ${sql(column)} as at from ${sql(table)} order by 1 desc`;
    return rows.map(({ at }) => Math.round((now.getTime() - at.getTime()) / DAY));
  };
  expect(await ages('webhook_attempts', 'attempted_at')).toEqual([13]);
  expect(await ages('webhook_deliveries', 'created_at')).toEqual([13, 15, 17]);
  expect(await ages('webhook_messages', 'created_at')).toEqual([13, 15, 17]);
});

test('encrypts earlier signing keys anew when the encryption key is rotated', async () => {
  await using service = await startTestService();
  const tenant = await createTenant(service);
  const { webhookId, signingKey } = await createTestWebhook(service, tenant);
  await clientsOf(service, tenant).webhooks.rotateSigningKey({ webhookId, overlapSeconds: 3_600 });
  await using database = openDatabase(service.database.url);
  const newKey = randomBytes(32);
  const { encryptionKeys = [] } = service.config.secrets;
  const run = database.within(performance.now() + 60_000);
  const rotation = new AbortController();
  await runKeyRotation(database, new RowCipher([newKey, ...encryptionKeys]), {
    usedAtStart: await readUsedKeyIds(run),
    signal: rotation.signal,
    onStatusChange: (_, status) => status === 'is not in use' && rotation.abort(),
    onError: (error) => expect.unreachable(String(error)),
  });
  const onlyNew = new RowCipher([newKey]);
  expect([...(await readUsedKeyIds(run))]).toEqual(onlyNew.keyIds);
  const [row] = await service.database
    .sql`select signing_key from webhook_signing_keys where webhook_id = ${webhookId}`;
  expect(onlyNew.decrypt(row?.signing_key, { applicationId: tenant.id, id: webhookId })).toBe(signingKey);
});

function openDatabase(url: string) {
  const database = new Database(url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}
