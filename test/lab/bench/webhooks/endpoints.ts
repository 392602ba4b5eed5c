/** Applications with a webhook each, and messages to them, as Usher would have stored them. */
import { randomBytes, randomUUID } from 'node:crypto';
import type postgres from 'postgres';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { type Fixtures, userAt } from '../fixtures.ts';

export interface Endpoint {
  readonly applicationId: string;
  readonly webhookId: string;
}

export const MESSAGE = JSON.stringify({
  type: 'check_in.created',
  timestamp: '2026-01-02T03:04:05.678Z',
  data: { eventId: 'event-1', attendeeId: 'attendee-1', checkedInAt: '2026-01-02T03:04:05.678Z' },
});

/** Inserts an application with a webhook for each URL. */
export async function insertEndpoints(
  sql: postgres.Sql,
  { encryptionKey }: Fixtures,
  urls: readonly string[],
): Promise<Endpoint[]> {
  const cipher = new RowCipher([encryptionKey]);
  const now = new Date();
  const endpoints = urls.map((url) => ({
    url,
    applicationId: randomUUID(),
    webhookId: `wh_${randomBytes(16).toString('hex')}`,
  }));
  const applications = endpoints.map(({ applicationId: id }) => ({
    ...{ id, name: 'Endpoint', clientId: `client_${id.replaceAll('-', '')}`, createdAt: now },
    redirectUris: ['https://app.example/callback'],
  }));
  const webhooks = endpoints.map(({ applicationId, webhookId, url }) => ({
    ...{ applicationId, id: webhookId, url, isActive: true, eventTypes: ['*'], ownerId: userAt(0).id },
    ...{ createdAt: now, updatedAt: now },
    signingKey: cipher.encrypt(`whsec_${randomBytes(32).toString('base64')}`, { applicationId, id: webhookId }),
  }));
  await sql`insert into applications ${sql(applications)}`;
  await sql`insert into webhooks ${sql(webhooks)}`;
  return endpoints;
}

/** Inserts messages for the endpoints in turn. */
export async function insertMessages(sql: postgres.Sql, endpoints: readonly Endpoint[], count: number): Promise<void> {
  const ids = endpoints.map(({ applicationId }) => applicationId);
  await sql`
    insert into webhook_messages (application_id, type, payload, created_at)
    select (${sql.array(ids)}::uuid[])[1 + number % ${ids.length}::int], 'check_in.created', ${MESSAGE}, now()
    from generate_series(0, ${count - 1}::int) as number`;
}
