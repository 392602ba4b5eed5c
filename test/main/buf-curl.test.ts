import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { OPERATIONS } from '../../src/api/catalogue.ts';
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

beforeAll(async () => {
  service = await startTestService();
  tenant = await createTenant(service, { name: 'Buf' });
});

afterAll(() => service.close());

test.each(['connect', 'grpc', 'grpcweb'])('buf curl needs no schema for a call over %s', async (protocol) => {
  const owner = await createTestUser(service);
  const { webhook } = await clientsOf(service, tenant).webhooks.createWebhook({
    url: 'https://example.com/hooks',
    ownerId: owner.id,
  });
  const reply = await curl(protocol, 'WebhookService/GetWebhook', { webhookId: webhook?.webhookId });

  expect(reply).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(reply.stdout)).toMatchObject({
    webhook: {
      webhookId: webhook?.webhookId,
      url: 'https://example.com/hooks',
      application: { id: tenant.id, name: 'Buf', clientId: tenant.clientId },
      owner: { email: owner.email },
    },
  });
});

test('buf curl shows the message of an error and the fields that are invalid', async () => {
  const { exitCode, stderr } = await curl('grpc', 'EventService/DeleteEvent', { eventId: '' });

  const { code, message, details } = JSON.parse(stderr);
  expect({ code, message }).toEqual({ code: 'invalid_argument', message: 'Validation failed' });
  expect(details).toEqual([expect.objectContaining({ type: 'google.rpc.BadRequest' })]);
  const { fieldViolations } = fromBinary(BadRequestSchema, Buffer.from(details[0].value, 'base64'));
  expect(fieldViolations).toMatchObject([{ field: 'eventId', description: 'is required' }]);
  expect(exitCode).not.toBe(0);
});

test('buf curl lists every method', async () => {
  const { stdout } = await runShell(`buf curl --http2-prior-knowledge --list-methods ${service.url}`);
  const methods = OPERATIONS.map(({ method }) => `${method.parent.typeName}/${method.name}`);
  const standard = [
    'grpc.health.v1.Health/Check',
    'grpc.health.v1.Health/List',
    'grpc.health.v1.Health/Watch',
    'grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  ];
  expect(stdout.trim().split('\n').sort()).toEqual([...standard, ...methods].sort());
});

function curl(protocol: string, procedure: string, fields: Record<string, string | undefined>) {
  return runShell(
    `buf curl --protocol ${protocol} --http2-prior-knowledge -H 'X-API-Key: ${tenant.apiKey}' ` +
      `-d '${JSON.stringify(fields)}' ${service.url}/usher.v1.${procedure}`,
  );
}
