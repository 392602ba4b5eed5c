/** WebhookService/CreateWebhook. */
import type { JsonObject } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { CONNECT, call } from '../support/protocols.ts';
import { createDeletedUser, createTestUser } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';

const { createWebhook, getWebhook } = WebhookService.method;
const NOW = '2026-03-01T12:00:00.120Z';
const WEBHOOK_URL = 'https://hooks.test/usher?a=b';
const LONGEST_URL = 'https://hooks.test/'.padEnd(2048, 'a');

const { service, tenant, credentials, callWith } = await openContractFixture({ clock: () => new Date(NOW) });
const owner = await createTestUser(service, { name: 'Ada Lovelace' });

const create = (changes: JsonObject = {}) =>
  callWith(createWebhook, { url: WEBHOOK_URL, ownerId: owner.id, ...changes });

function webhookOf(data: unknown): { webhookId: string; signingKey: string } {
  return data as { webhookId: string; signingKey: string };
}

it('returns an active webhook with an ID and signing key of its own, as GetWebhook does from then on', async () => {
  const created = await create();
  expect(created).toEqual(
    success(
      {
        webhookId: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
        signingKey: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
        url: WEBHOOK_URL,
        isActive: true,
        application: { id: tenant.id, name: tenant.name, clientId: tenant.clientId },
        owner: { id: owner.id, name: 'Ada Lovelace', email: owner.email },
        createdAt: NOW,
        updatedAt: NOW,
        eventTypes: [],
        ordered: false,
      },
      'Webhook created successfully',
    ),
  );
  const { webhookId, signingKey } = webhookOf(created.data);
  expect(await call(CONNECT, service.url, getWebhook, { webhookId }, credentials)).toMatchObject({
    data: { webhook: created.data ?? {} },
  });
  const second = webhookOf((await create()).data);
  expect(second.webhookId).not.toBe(webhookId);
  expect(second.signingKey).not.toBe(signingKey);
});

it('stores the signing key encrypted', async () => {
  const { webhookId, signingKey } = webhookOf((await create()).data);
  const [row] = await service.database.sql`select signing_key from webhooks where id = ${webhookId}`;
  const stored: Buffer = row?.signing_key;
  expect(stored.length).toBeGreaterThan(0);
  expect(stored.includes(signingKey)).toBe(false);
  expect(stored.includes(Buffer.from(signingKey.replace('whsec_', ''), 'base64'))).toBe(false);
});

it('returns an empty name for an owner without one', async () => {
  const { id, email } = await createTestUser(service);
  expect(await create({ ownerId: id })).toMatchObject({ data: { owner: { id, name: '', email } } });
});

it.each(['https://hooks.test', 'https://hooks.test:8443/a/b?c=d#e', 'https://8.8.8.8/', LONGEST_URL])(
  'keeps the URL %s as it was written',
  async (url) => {
    expect(await create({ url })).toMatchObject({ code: 'ok', data: { url } });
  },
);

it.each([
  ['does not exist', UNKNOWN_ID],
  ['has been deleted', await createDeletedUser(service)],
])('returns 404 when the owner %s', async (_, ownerId) => {
  const before = await service.database.sql`select count(*) from webhooks`;
  expect(await create({ ownerId })).toEqual(refusal('not_found', 'User not found'));
  expect(await service.database.sql`select count(*) from webhooks`).toEqual(before);
});

it.each([
  ...['http://hooks.test', 'https://10.0.0.1/', 'https://u@hooks.test/', 'https://hooks.test:22/'].map((url) => ({
    url,
  })),
  ...['', '/usher', 'ftp://hooks.test', 'https://hooks.test/\n', 'https://hooks.test/\0', `${LONGEST_URL}a`].map(
    (url) => ({ url }),
  ),
  ...[['nothing'], ['event.created', ''], 'event.created', {}].map((eventTypes) => ({ eventTypes })),
  { isActive: 'yes' },
  { ordered: 1 },
  { description: 'a'.repeat(256) },
  ...['', 'owner', `${UNKNOWN_ID.slice(1)}\0`].map((ownerId) => ({ ownerId })),
])('returns Validation failed for %j', async (wrong) => {
  expect(await create(wrong)).toEqual(validationFailed(...Object.keys(wrong)));
});

it('checks the fields before the owner', async () => {
  expect(await create({ url: '', ownerId: UNKNOWN_ID })).toEqual(validationFailed('url'));
});
