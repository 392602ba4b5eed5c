/** `buf curl`, which knows nothing of Usher but what its reflection tells. */
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { runShell } from '../support/process.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

let service: TestService;
let tenant: Tenant;
let webhookId: string;

beforeAll(async () => {
  service = await startTestService();
  tenant = await createTenant(service, { name: 'Buf' });
  const owner = await createTestUser(service, { email: 'owner@example.com' });
  const { webhook } = await clientsOf(service, tenant).webhooks.createWebhook({
    url: 'https://example.com/hooks',
    ownerId: owner.id,
  });
  webhookId = webhook?.webhookId ?? '';
});

afterAll(() => service.close());

describe.each(['connect', 'grpc', 'grpcweb'])('over %s', (protocol) => {
  test('GetWebhook succeeds', async () => {
    const { exitCode, stdout, stderr } = await curl('WebhookService/GetWebhook', { webhookId });

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      webhook: {
        webhookId,
        url: 'https://example.com/hooks',
        isActive: true,
        application: { id: tenant.id, name: 'Buf', clientId: tenant.clientId },
        owner: { email: 'owner@example.com' },
      },
    });
  });

  test('an error shows its message', async () => {
    const missing = `wh_${'0'.repeat(32)}`;
    const { exitCode, stdout, stderr } = await curl('WebhookService/GetWebhook', { webhookId: missing });

    expect({ stdout, error: JSON.parse(stderr) }).toEqual({
      stdout: '',
      error: { code: 'not_found', message: 'Webhook not found' },
    });
    expect(exitCode).not.toBe(0);
  });

  test('a violation shows its field', async () => {
    const { exitCode, stderr } = await curl('EventService/DeleteEvent', { eventId: '' });

    const { code, message, details } = JSON.parse(stderr);
    expect({ code, message }).toEqual({ code: 'invalid_argument', message: 'Validation failed' });
    expect(details).toEqual([expect.objectContaining({ type: 'google.rpc.BadRequest' })]);
    const { fieldViolations } = fromBinary(BadRequestSchema, Buffer.from(details[0].value, 'base64'));
    expect(fieldViolations).toMatchObject([{ field: 'eventId', description: 'is required' }]);
    expect(exitCode).not.toBe(0);
  });

  function curl(procedure: string, fields: Record<string, string>) {
    return runShell(
      `buf curl --protocol ${protocol} --http2-prior-knowledge -H 'X-API-Key: ${tenant.apiKey}' ` +
        `-d '${JSON.stringify(fields)}' ${service.url}/usher.v1.${procedure}`,
    );
  }
});

test('every service and method is listed', async () => {
  const { exitCode, stdout } = await runShell(`buf curl --http2-prior-knowledge --list-methods ${service.url}`);

  expect(exitCode).toBe(0);
  expect(stdout.trim().split('\n').sort()).toEqual([
    'grpc.health.v1.Health/Check',
    'grpc.health.v1.Health/List',
    'grpc.health.v1.Health/Watch',
    'grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    'usher.v1.AdminService/CompleteLogin',
    'usher.v1.AdminService/CreateApiKey',
    'usher.v1.AdminService/CreateApplication',
    'usher.v1.AdminService/CreateUser',
    'usher.v1.AdminService/DeleteApplication',
    'usher.v1.AdminService/DeleteUser',
    'usher.v1.AdminService/RevokeApiKey',
    'usher.v1.AuthService/ExchangeToken',
    'usher.v1.AuthService/GenerateAuthUrl',
    'usher.v1.EventService/CheckIn',
    'usher.v1.EventService/CreateEvent',
    'usher.v1.EventService/DeleteEvent',
    'usher.v1.WebhookService/CreateWebhook',
    'usher.v1.WebhookService/GetWebhook',
  ]);
});
