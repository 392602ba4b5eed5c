/** The examples in the guide to webhooks. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs, timestampNow } from '@bufbuild/protobuf/wkt';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import restDocument from '../../../gen/openapi/rest.json' with { type: 'json' };
import type { CheckInRequestSchema, CreateEventRequestSchema } from '../../../gen/usher/v1/event_pb.ts';
import { RECEIVER, WEBHOOK_DATA } from '../../../src/reference/docs/webhook-guide.ts';
import { REPOSITORY } from '../../support/process.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  startTestService,
} from '../../support/service.ts';

test('has the receiver that test/integration/delivery/receiver-example.test.ts runs', async () => {
  expect(await readFile(join(REPOSITORY, 'src/delivery/README.md'), 'utf8')).toContain(`\`\`\`ts\n${RECEIVER}\n\`\`\``);
});

test('shows messages with the fields that Usher sends', async () => {
  const sent = await sendOfEachType({
    profile: { name: 'Ada', profileImage: 'https://images.test/ada.png' },
    event: {
      name: 'Party',
      startsAt: timestampNow(),
      endsAt: timestampFromMs(2e12),
      capacity: 300,
      admission: 'ANYONE',
    },
    scan: { occurredAt: timestampNow(), gate: 'North' },
    login: {},
  });
  expect(mapValues(sent, ({ data }) => fieldsOf(data))).toEqual(mapValues(WEBHOOK_DATA, fieldsOf));
});

test('describes messages without optional values, and of a session on behalf of a user', async () => {
  const ajv = addFormats.default(new Ajv2020({ strict: false }));
  const sent = await sendOfEachType({ profile: {}, event: {}, scan: {}, login: { onBehalfBy: 'Sam of support' } });
  expect(Object.keys(sent).sort()).toEqual(Object.keys(restDocument.webhooks).sort());
  for (const [type, { post }] of Object.entries(restDocument.webhooks)) {
    const { schema } = post.requestBody.content['application/json'];
    const validate = ajv.compile(schema);
    validate(sent[type]);
    expect(validate.errors, JSON.stringify(sent[type])).toBeNull();
    const documented = Object.keys(schema.properties.data.properties);
    expect(documented).toEqual(expect.arrayContaining(Object.keys(sent[type]?.data ?? {})));
  }
});

interface Values {
  readonly profile: { name?: string; profileImage?: string };
  readonly event: MessageInitShape<typeof CreateEventRequestSchema>;
  readonly scan: MessageInitShape<typeof CheckInRequestSchema>;
  readonly login: { onBehalfBy?: string };
}

/** Makes Usher send a message of each type, and returns the last of each. */
async function sendOfEachType({ profile, event, scan, login }: Values) {
  await using service = await startTestService();
  const tenant = await createTenant(service);
  const { events, sessions, webhooks } = clientsOf(service, tenant);
  const admin = adminClient(service);
  const { id: userId } = await createTestUser(service, profile);
  const { webhook } = await webhooks.createWebhook({
    url: 'https://hooks.test',
    ownerId: (await createTestUser(service, { applicationIds: [tenant.id] })).id,
    eventTypes: ['*'],
  });
  await webhooks.sendTestMessage({ webhookId: webhook?.webhookId ?? '' });
  await events.createEvent({ eventId: 'party', ...event });
  await events.updateEvent({ eventId: 'party', capacity: 200 });
  await events.checkIn({ eventId: 'party', attendeeId: 'ada', ...scan });
  await events.undoCheckIn({ eventId: 'party', attendeeId: 'ada' });
  await events.deleteEvent({ eventId: 'party' });
  await beginSession(service, tenant, { id: userId }, login);
  await sessions.revokeUserSessions({ userId });
  await admin.updateUser({ userId, ...profile, email: 'ada@lovelace.test' });
  await admin.deactivateUser({ userId });
  await admin.deleteUser({ userId });

  const rows = await service.database.sql`select payload from webhook_messages order by id`;
  const sent: { type: string; data: JsonObject }[] = rows.map(({ payload }) => JSON.parse(payload));
  return Object.fromEntries(sent.map((message) => [message.type, message]));
}

function mapValues<T, R>(values: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}

/** Returns the names of the fields and of those inside them. */
function fieldsOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  return mapValues({ ...value }, fieldsOf);
}
