import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { create, createFileRegistry, fromBinary, type Registry } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import {
  type Any,
  AnySchema,
  anyUnpack,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BadRequestSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import {
  ExtensionRequestSchema,
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/health/v1/health_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { GrpcClient } from '../../support/grpc-client.ts';
import { HttpPool } from '../../support/http-pool.ts';
import { holdLock, waitForLockWaiters } from '../../support/lock.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../../support/service.ts';

const SERVICES = [
  'usher.v1.AuthService',
  'usher.v1.WebhookService',
  'usher.v1.EventService',
  'usher.v1.AdminService',
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
];

let service: TestService;
let client: GrpcClient;
let tenant: Tenant;
let owner: TestUser;
let webhookId: string;

beforeAll(async () => {
  service = await startTestService();
  client = new GrpcClient(service);
  tenant = await createTenant(service);
  owner = await createTestUser(service, { name: 'Ada' });
  const { webhook } = await clientsOf(service, tenant).webhooks.createWebhook({
    url: 'https://example.com/hooks',
    ownerId: owner.id,
  });
  webhookId = webhook?.webhookId ?? '';
});

afterAll(async () => {
  client[Symbol.dispose]();
  await service.close();
});

describe('GetWebhook', () => {
  const getWebhook = (id: string, headers: Record<string, string> = { 'x-api-key': tenant.apiKey }) =>
    client.unary(WebhookService.method.getWebhook, create(WebhookService.method.getWebhook.input, { webhookId: id }), {
      headers,
    });

  test('returns the webhook', async () => {
    const { code, message } = await getWebhook(webhookId);
    expect(code).toBe('OK');
    expect(message?.webhook).toMatchObject({
      webhookId,
      url: 'https://example.com/hooks',
      isActive: true,
      application: { id: tenant.id, name: tenant.name, clientId: tenant.clientId },
      owner: { id: owner.id, name: 'Ada', email: owner.email },
    });
    expect(message?.webhook?.signingKey).toMatch(/^whsec_/);
  });

  test('carries the request ID in the metadata, the one that was given', async () => {
    const headers = { 'x-api-key': tenant.apiKey, 'x-request-id': 'a-request' };
    expect((await getWebhook(webhookId, headers)).headers.get('x-request-id')).toEqual(['a-request']);
    expect((await getWebhook(webhookId)).headers.get('x-request-id')).toEqual([
      expect.stringMatching(/^[\da-f-]{36}$/),
    ]);
  });

  test.each([
    ['UNAUTHENTICATED', 'Invalid API key', () => getWebhook(webhookId, {})],
    ['UNAUTHENTICATED', 'Invalid API key', () => getWebhook(webhookId, { 'x-api-key': 'usk_unknown' })],
    ['INVALID_ARGUMENT', 'Invalid webhook ID format', () => getWebhook('wh_1')],
    ['NOT_FOUND', 'Webhook not found', () => getWebhook(`wh_${'0'.repeat(32)}`)],
  ])('is %s "%s" where it should be', async (code, details, call) => {
    expect(await call()).toMatchObject({ code, details, message: undefined });
  });

  test('names the fields that are wrong in the details of the error', async () => {
    const { code, details, trailers } = await getWebhook('');
    expect({ code, details }).toEqual({ code: 'INVALID_ARGUMENT', details: 'Validation failed' });
    const [bytes] = trailers.get('grpc-status-details-bin');
    if (!(bytes instanceof Buffer)) throw new Error('The error has no details');
    const told = readStatus(bytes);
    expect({ code: told.code, message: told.message }).toEqual({ code: 3, message: 'Validation failed' });
    const violations = told.details.map((detail) => anyUnpack(detail, BadRequestSchema)?.fieldViolations);
    expect(violations).toMatchObject([[{ field: 'webhookId', description: 'is required' }]]);
  });

  test('works a hundred times at once on one connection', async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => getWebhook(webhookId)));
    expect(outcomes.map(({ code }) => code)).toEqual(Array(100).fill('OK'));
  });

  test('is not implemented under another name', async () => {
    const { getWebhook: method } = WebhookService.method;
    const unknown = { ...method, name: 'NoSuchMethod' };
    const { code } = await client.unary(unknown, create(method.input, { webhookId }));
    expect(code).toBe('UNIMPLEMENTED');
  });
});

describe('a call that takes too long', () => {
  const deleteEvent = (eventId: string, options: Parameters<GrpcClient['unary']>[2] = {}) => {
    const { deleteEvent: method } = EventService.method;
    return client.unary(method, create(method.input, { eventId }), {
      headers: { 'x-api-key': tenant.apiKey },
      ...options,
    });
  };

  test('ends at the deadline of the caller', async () => {
    await clientsOf(service, tenant).events.createEvent({ eventId: 'late' });
    await using _lock = await holdLock(service.database, `select from events where id = 'late' for update`);
    const startedAt = performance.now();
    const { code } = await deleteEvent('late', { deadline: Date.now() + 200 });
    expect(code).toBe('DEADLINE_EXCEEDED');
    expect(performance.now() - startedAt).toBeLessThan(200 + 1_000);
  });

  test('ends when the caller cancels it, and the next one works', async () => {
    await clientsOf(service, tenant).events.createEvent({ eventId: 'cancelled' });
    await using lock = await holdLock(service.database, `select from events where id = 'cancelled' for update`);
    const { promise: begun, resolve: begin } = Promise.withResolvers<() => void>();
    const cancelled = deleteEvent('cancelled', { onCall: (call) => begin(() => call.cancel()) });
    const cancel = await begun;
    await waitForLockWaiters(service.database);
    cancel();
    expect((await cancelled).code).toBe('CANCELLED');
    await lock.release();
    expect((await deleteEvent('no-such-event')).code).toBe('NOT_FOUND');
  });
});

describe('health', () => {
  const check = (name: string) =>
    client.unary(Health.method.check, create(HealthCheckRequestSchema, { service: name }));
  const watch = (name: string, deadline?: number) =>
    client.serverStream(Health.method.watch, create(HealthCheckRequestSchema, { service: name }), {
      ...(deadline !== undefined && { deadline }),
    });

  test.each(['', ...SERVICES])('of "%s" is SERVING', async (name) => {
    const { code, message } = await check(name);
    expect({ code, status: message?.status }).toEqual({ code: 'OK', status: ServingStatus.SERVING });
  });

  test.each(['usher.v1.NoService', 'usher', 'usher.v1.AuthService/ExchangeToken', ' '])(
    'of the unknown "%s" is NOT_FOUND',
    async (name) => {
      expect(await check(name)).toMatchObject({ code: 'NOT_FOUND', message: undefined });
    },
  );

  test('needs no key, as the other services do', async () => {
    expect((await check('')).code).toBe('OK');
    const { createEvent } = EventService.method;
    const { code } = await client.unary(createEvent, create(createEvent.input, { eventId: 'x' }));
    expect(code).toBe('UNAUTHENTICATED');
  });

  test('lists every service', async () => {
    const { message } = await client.unary(Health.method.list, create(Health.method.list.input));
    const statuses = Object.entries(message?.statuses ?? {}).map(([name, { status }]) => [name, status]);
    expect(Object.fromEntries(statuses)).toEqual(
      Object.fromEntries(['', ...SERVICES].map((name) => [name, ServingStatus.SERVING])),
    );
  });

  test('is told at once to who watches, and told again only when it changes', async () => {
    const watching = watch('usher.v1.AuthService');
    const seen: ServingStatus[] = [];
    watching.on('data', ({ status }) => seen.push(status));
    await once(watching, 'data');
    await sleep(1_200);
    watching.cancel();
    await expect(once(watching, 'end')).rejects.toMatchObject({ code: status.CANCELLED });
    expect(seen).toEqual([ServingStatus.SERVING]);
  });

  test('of an unknown service is SERVICE_UNKNOWN to who watches', async () => {
    const watching = watch('usher.v1.NoService');
    const [response] = await once(watching, 'data');
    watching.on('error', () => {}).cancel();
    expect(response.status).toBe(ServingStatus.SERVICE_UNKNOWN);
  });

  test('ends for who watches at the deadline', async () => {
    const watching = watch('', Date.now() + 300);
    await expect(once(watching.resume(), 'end')).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  });

  test('is NOT_SERVING to who watches when the service is closed, which a watcher does not hold up', async () => {
    // On a database that outlives it: only the service is timed.
    const { database, config: like } = service;
    const closing = await startTestService({ database, like, config: { shutdownTimeoutMs: 3_000 } });
    using watcher = new GrpcClient(closing);
    const watching = watcher.serverStream(Health.method.watch, create(HealthCheckRequestSchema));
    const seen: ServingStatus[] = [];
    watching.on('data', ({ status }) => seen.push(status));
    watching.on('error', () => {});
    await once(watching, 'data');
    const startedAt = performance.now();
    await closing.close();
    expect(seen).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
    expect(performance.now() - startedAt).toBeLessThan(2_500);
  });
});

describe('reflection', () => {
  const { serverReflectionInfo } = ServerReflection.method;
  type Question = ServerReflectionRequest['messageRequest'];

  const ask = async (...questions: Question[]): Promise<ServerReflectionResponse[]> =>
    client.bidiStream(
      serverReflectionInfo,
      questions.map((messageRequest) => create(ServerReflectionRequestSchema, { host: 'usher', messageRequest })),
    );

  /** What a client can build of the answer alone. */
  const registryOf = (response: ServerReflectionResponse | undefined): Registry => {
    const answer = response?.messageResponse;
    if (answer?.case !== 'fileDescriptorResponse') throw new Error('No files', { cause: answer });
    const file = answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    // Dependencies first, as a set of files has them.
    return createFileRegistry(create(FileDescriptorSetSchema, { file: file.reverse() }));
  };

  test('lists the services', async () => {
    const [response] = await ask({ case: 'listServices', value: '' });
    expect(response?.messageResponse).toMatchObject({
      case: 'listServicesResponse',
      value: { service: SERVICES.map((name) => ({ name })) },
    });
  });

  test.each(SERVICES)('describes %s with all that its file imports', async (name) => {
    const [response] = await ask({ case: 'fileContainingSymbol', value: name });
    const registry = registryOf(response);
    const methods = registry.getService(name)?.methods ?? [];
    expect(methods.length).toBeGreaterThan(0);
    for (const { input, output } of methods) {
      expect(registry.getMessage(input.typeName)?.typeName).toBe(input.typeName);
      expect(registry.getMessage(output.typeName)?.typeName).toBe(output.typeName);
    }
  });

  test.each([
    ['a method', 'usher.v1.WebhookService.GetWebhook', 'usher.v1.Webhook'],
    ['a message', 'usher.v1.Webhook', 'google.protobuf.Timestamp'],
    ['a field', 'usher.v1.Webhook.signing_key', 'google.protobuf.Timestamp'],
    ['a message of another file', 'google.protobuf.Timestamp', 'google.protobuf.Timestamp'],
    ['a nested message', 'google.rpc.BadRequest.FieldViolation', 'google.rpc.BadRequest'],
    ['an enum', 'grpc.health.v1.HealthCheckResponse.ServingStatus', 'grpc.health.v1.HealthCheckResponse'],
    ['a detail of errors', 'google.rpc.BadRequest', 'google.rpc.BadRequest.FieldViolation'],
  ])('finds the file of %s', async (_, symbol, message) => {
    const [response] = await ask({ case: 'fileContainingSymbol', value: symbol });
    expect(registryOf(response).getMessage(message)?.typeName).toBe(message);
  });

  test('finds a file by its name', async () => {
    const [response] = await ask({ case: 'fileByFilename', value: 'usher/v1/webhook.proto' });
    expect(registryOf(response).getService('usher.v1.WebhookService')?.methods).toHaveLength(2);
  });

  test.each<[string, Question]>([
    ['an unknown symbol', { case: 'fileContainingSymbol', value: 'usher.v1.NoService' }],
    ['an unknown method', { case: 'fileContainingSymbol', value: 'usher.v1.WebhookService.NoMethod' }],
    ['an unknown field', { case: 'fileContainingSymbol', value: 'usher.v1.Webhook.no_field' }],
    ['a package', { case: 'fileContainingSymbol', value: 'usher.v1' }],
    ['nothing', { case: 'fileContainingSymbol', value: '' }],
    ['a name that every object has', { case: 'fileContainingSymbol', value: '__proto__' }],
    ['an unknown file', { case: 'fileByFilename', value: '../../etc/passwd' }],
    [
      'an extension',
      {
        case: 'fileContainingExtension',
        value: create(ExtensionRequestSchema, { containingType: 'usher.v1.Webhook', extensionNumber: 1 }),
      },
    ],
    ['the extensions of a type', { case: 'allExtensionNumbersOfType', value: 'usher.v1.NoMessage' }],
  ])('finds no file for %s', async (_, question) => {
    const [response] = await ask(question);
    expect(response?.messageResponse).toMatchObject({ case: 'errorResponse', value: { errorCode: 5 } });
  });

  test('answers several questions on one stream in their order, each with the question', async () => {
    const questions: Question[] = [
      { case: 'fileContainingSymbol', value: 'usher.v1.NoService' },
      { case: 'listServices', value: '*' },
      { case: 'fileByFilename', value: 'usher/v1/auth.proto' },
      { case: undefined },
    ];
    const responses = await ask(...questions);
    expect(responses.map(({ messageResponse }) => messageResponse.case)).toEqual([
      'errorResponse',
      'listServicesResponse',
      'fileDescriptorResponse',
      'errorResponse',
    ]);
    expect(responses.map(({ originalRequest }) => originalRequest?.messageRequest)).toMatchObject(questions);
    expect(responses.map(({ validHost }) => validHost)).toEqual(Array(4).fill('usher'));
  });
});

test('a plain HTTP call on the same port works beside it', async () => {
  using pool = new HttpPool(service, { 'x-api-key': tenant.apiKey });
  expect((await pool.call('GET', `/api/webhooks/${webhookId}`)).status).toBe(200);
});

/** The message `google.rpc.Status`: a code, a message, and details. */
function readStatus(bytes: Uint8Array): { code: number; message: string; details: Any[] } {
  let code = 0;
  let message = '';
  const details: Any[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1) code = reader.int32();
    else if (field === 2) message = reader.string();
    else if (field === 3) details.push(fromBinary(AnySchema, reader.bytes()));
    else reader.skip(wireType);
  }
  return { code, message, details };
}
