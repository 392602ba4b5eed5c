/** WebhookService/CreateWebhook. */
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { CONNECT, call, mainProtocolOf } from '../support/protocols.ts';
import {
  createDeletedUser,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';

const { createWebhook, getWebhook } = WebhookService.method;
const NOW = '2026-03-01T12:00:00.120Z';
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';
const WEBHOOK_URL = 'https://hooks.test/usher?a=b';
const LONGEST_URL = `https://hooks.test/${'a'.repeat(2048 - 'https://hooks.test/'.length)}`;

let service: TestService;
let tenant: Tenant;
let owner: TestUser;

beforeAll(async () => {
  service = await startTestService({ clock: () => new Date(NOW) });
  tenant = await createTenant(service);
  owner = await createTestUser(service, { name: 'Ada Lovelace' });
});

afterAll(() => service.close());

const credentials = () => ({ 'x-api-key': tenant.apiKey });
const callWith = (changes: JsonObject = {}, headers: Record<string, string> = credentials()) => {
  const fields = { url: WEBHOOK_URL, ownerId: owner.id, ...changes };
  return call(mainProtocolOf(createWebhook), service.url, createWebhook, fields, headers);
};

describe('CreateWebhook', () => {
  it('returns an active webhook with a new ID and signing key', async () => {
    expect(await callWith()).toEqual(
      success({
        webhook: {
          webhookId: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
          signingKey: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
          url: WEBHOOK_URL,
          isActive: true,
          application: { id: tenant.id, name: tenant.name, clientId: tenant.clientId },
          owner: { id: owner.id, name: 'Ada Lovelace', email: owner.email },
          createdAt: NOW,
          updatedAt: NOW,
        },
      }),
    );
  });

  it('returns what GetWebhook returns from then on', async () => {
    const created = await callWith();
    const { webhookId } = webhookOf(created.data);
    expect(await call(CONNECT, service.url, getWebhook, { webhookId }, credentials())).toEqual(created);
  });

  it('gives every webhook an ID and a key of its own', async () => {
    const [first, second] = [webhookOf((await callWith()).data), webhookOf((await callWith()).data)];
    expect(first.webhookId).not.toBe(second.webhookId);
    expect(first.signingKey).not.toBe(second.signingKey);
  });

  it('stores the signing key encrypted', async () => {
    const { webhookId, signingKey } = webhookOf((await callWith()).data);
    const [row] = await service.database.sql`select signing_key from webhooks where id = ${webhookId}`;
    const stored: Buffer = row?.signing_key;
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.includes(signingKey)).toBe(false);
    expect(stored.includes(Buffer.from(signingKey.replace('whsec_', ''), 'base64'))).toBe(false);
  });

  it('returns an empty name for an owner without one', async () => {
    const { id, email } = await createTestUser(service);
    expect(await callWith({ ownerId: id })).toMatchObject({ data: { webhook: { owner: { id, name: '', email } } } });
  });

  it.each([
    ['without a path', 'http://hooks.test'],
    ['with all it can have', 'https://hooks.test:8443/a/b?c=d#e'],
    ['on an address', 'http://10.0.0.1/'],
    ['of 2048 characters', LONGEST_URL],
  ])('keeps a URL %s as it was written', async (_, url) => {
    expect(await callWith({ url })).toMatchObject({ code: 'ok', data: { webhook: { url } } });
  });

  it.each<[string, () => Promise<string>]>([
    ['does not exist', async () => UNKNOWN_ID],
    ['has been deleted', () => createDeletedUser(service)],
  ])('returns 404 when the owner %s', async (_, ownerIdOf) => {
    const before = await service.database.sql`select count(*) from webhooks`;
    expect(await callWith({ ownerId: await ownerIdOf() })).toEqual(refusal('not_found', 'User not found'));
    expect(await service.database.sql`select count(*) from webhooks`).toEqual(before);
  });

  it.each([
    ['url', 'is empty', ''],
    ['url', 'is relative', '/usher'],
    ['url', 'has another scheme', 'ftp://hooks.test'],
    ['url', 'has a line break after it', 'https://hooks.test/\n'],
    ['url', 'has a NUL', 'https://hooks.test/\0'],
    ['url', 'has 2049 characters', `${LONGEST_URL}a`],
    ['ownerId', 'is empty', ''],
    ['ownerId', 'is no UUID', 'owner'],
    ['ownerId', 'has a NUL', '00000000-0000-4000-8000-00000000000\0'],
  ])('returns Validation failed when %s %s', async (field, _, value) => {
    expect(await callWith({ [field]: value })).toEqual(validationFailed(field));
  });

  it('checks the API key first, then the fields, then the owner', async () => {
    const wrong = { url: '', ownerId: UNKNOWN_ID };
    expect(await callWith(wrong, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
    expect(await callWith(wrong)).toEqual(validationFailed('url'));
  });
});

function webhookOf(data: unknown): { webhookId: string; signingKey: string } {
  return (data as { webhook: { webhookId: string; signingKey: string } }).webhook;
}
