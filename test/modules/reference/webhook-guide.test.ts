/** The examples in the guide to webhooks. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RECEIVER, WEBHOOK_DATA } from '../../../src/modules/reference/docs/webhook-guide.ts';
import { REPOSITORY } from '../../support/process.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  startTestService,
} from '../../support/service.ts';

test('has the receiver that test/delivery/receiver-example.test.ts runs', async () => {
  expect(await readFile(join(REPOSITORY, 'src/delivery/README.md'), 'utf8')).toContain(`\`\`\`ts\n${RECEIVER}\n\`\`\``);
});

test('shows messages with the fields that Usher sends', async () => {
  await using service = await startTestService();
  const tenant = await createTenant(service);
  const { events, sessions, webhooks } = clientsOf(service, tenant);
  const admin = adminClient(service);
  const { id: userId } = await createTestUser(service, { name: 'Ada' });
  const { webhook } = await webhooks.createWebhook({
    url: 'https://hooks.test',
    ownerId: (await createTestUser(service, { applicationIds: [tenant.id] })).id,
    eventTypes: ['*'],
  });
  await webhooks.sendTestMessage({ webhookId: webhook?.webhookId ?? '' });
  await events.createEvent({ eventId: 'party', name: 'Party' });
  await events.updateEvent({ eventId: 'party', capacity: 300 });
  await events.checkIn({ eventId: 'party', attendeeId: 'ada', gate: 'North' });
  await events.undoCheckIn({ eventId: 'party', attendeeId: 'ada' });
  await events.deleteEvent({ eventId: 'party' });
  await beginSession(service, tenant, { id: userId });
  await sessions.revokeUserSessions({ userId });
  await admin.updateUser({ userId, name: 'Ada Lovelace' });
  await admin.deactivateUser({ userId });
  await admin.deleteUser({ userId });

  const rows = await service.database.sql`select payload from webhook_messages order by id`;
  const sent = rows.map(({ payload }) => JSON.parse(payload)).map(({ type, data }) => [type, fieldsOf(data)]);
  expect(Object.fromEntries(sent)).toEqual(
    Object.fromEntries(Object.entries(WEBHOOK_DATA).map(([type, data]) => [type, fieldsOf(data)])),
  );
});

/** Returns the names of the fields and of those inside them. */
function fieldsOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fieldsOf(inner)]));
}
