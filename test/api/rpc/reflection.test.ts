/** Server reflection: clients such as `buf curl` need no schema. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { create, createFileRegistry, fromBinary, type Registry, toJson } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { createAsyncIterable } from '@connectrpc/connect/protocol';
import { status } from '@grpc/grpc-js';
import { afterAll, expect, test } from 'vitest';
import {
  ExtensionRequestSchema,
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionAlpha } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { SERVED_SERVICES } from '../../../src/api/catalogue.ts';
import { createReflectionHandler } from '../../../src/api/rpc/reflection.ts';
import { GrpcClient } from '../../support/grpc-client.ts';
import { request } from '../../support/http.ts';
import { startTestService } from '../../support/service.ts';

const NAMES = SERVED_SERVICES.map(({ typeName }) => typeName);

type Question = ServerReflectionRequest['messageRequest'];

const service = await startTestService();
const client = new GrpcClient(service);

afterAll(async () => {
  client[Symbol.dispose]();
  await service.close();
});

const ask = async (...questions: Question[]): Promise<ServerReflectionResponse[]> =>
  client.bidiStream(
    ServerReflection.method.serverReflectionInfo,
    questions.map((messageRequest) => create(ServerReflectionRequestSchema, { host: 'usher', messageRequest })),
  );

/** Builds what a client can build of the answer alone. */
function registryOf(response: ServerReflectionResponse | undefined): Registry {
  // A set of files has dependencies first.
  return createFileRegistry(create(FileDescriptorSetSchema, { file: filesOf(response).reverse() }));
}

function filesOf(response: ServerReflectionResponse | undefined): FileDescriptorProto[] {
  const answer = response?.messageResponse;
  if (answer?.case !== 'fileDescriptorResponse') throw new Error('No files', { cause: answer });
  return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

test('lists the services', async () => {
  const [response] = await ask({ case: 'listServices', value: '' });
  expect(response?.messageResponse).toMatchObject({
    case: 'listServicesResponse',
    value: { service: NAMES.map((name) => ({ name })) },
  });
});

test.each(NAMES)('describes %s with everything that its file imports', async (name) => {
  const [response] = await ask({ case: 'fileContainingSymbol', value: name });
  const registry = registryOf(response);
  const methods = registry.getService(name)?.methods ?? [];
  expect(methods.length).toBeGreaterThan(0);
  for (const { input, output } of methods) {
    expect(registry.getMessage(input.typeName)?.typeName).toBe(input.typeName);
    expect(registry.getMessage(output.typeName)?.typeName).toBe(output.typeName);
  }
});

test('answers tools that know only v1alpha as it answers those that know v1', async () => {
  const { serverReflectionInfo } = ServerReflectionAlpha.method;
  const questions = [
    { case: 'listServices' as const, value: '' },
    { case: 'fileContainingSymbol' as const, value: 'usher.v1.EventService' },
    { case: 'fileByFilename' as const, value: 'usher/v1/no.proto' },
  ];
  const asked = questions.map((messageRequest) =>
    create(serverReflectionInfo.input, { host: 'usher', messageRequest }),
  );
  const alpha = await client.bidiStream(serverReflectionInfo, asked);
  const responses = await ask(...questions);
  expect(alpha.map((message) => toJson(serverReflectionInfo.output, message))).toEqual(
    responses.map((message) => toJson(ServerReflectionResponseSchema, message)),
  );
});

test.each([
  ['a method', 'usher.v1.WebhookService.GetWebhook', 'usher.v1.Webhook'],
  ['a field', 'usher.v1.Webhook.signing_key', 'google.protobuf.Timestamp'],
  ['a message of another file', 'google.protobuf.Timestamp', 'google.protobuf.Timestamp'],
  ['an enum', 'grpc.health.v1.HealthCheckResponse.ServingStatus', 'grpc.health.v1.HealthCheckResponse'],
])('finds the file of %s', async (_, symbol, message) => {
  const [response] = await ask({ case: 'fileContainingSymbol', value: symbol });
  expect(registryOf(response).getMessage(message)?.typeName).toBe(message);
});

test.each<[string, Question]>([
  ['an unknown symbol', { case: 'fileContainingSymbol', value: 'usher.v1.NoService' }],
  ['an empty symbol', { case: 'fileContainingSymbol', value: '' }],
  ['a property of every object', { case: 'fileContainingSymbol', value: '__proto__' }],
  ['an unknown file', { case: 'fileByFilename', value: '../../etc/passwd' }],
  [
    'an extension',
    {
      case: 'fileContainingExtension',
      value: create(ExtensionRequestSchema, { containingType: 'usher.v1.Webhook', extensionNumber: 1 }),
    },
  ],
  ['the extensions of a type', { case: 'allExtensionNumbersOfType', value: 'usher.v1.NoMessage' }],
])('answers not found for %s', async (_, question) => {
  const [response] = await ask(question);
  expect(response?.messageResponse).toMatchObject({ case: 'errorResponse', value: { errorCode: 5 } });
});

test('answers several questions on one stream in their order, each with its question', async () => {
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
  expect(responses.map(({ validHost }) => validHost)).toEqual(questions.map(() => 'usher'));
});

test('returns 505 over HTTP/1.1, which has no bidirectional streams', async () => {
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  const headers = { 'content-type': 'application/connect+json' };
  const reply = await request(service.url, { method: 'POST', path, headers });
  expect(reply.status).toBe(505);
  expect(JSON.parse(reply.body)).toMatchObject({ code: 'unimplemented', message: 'This method needs HTTP/2' });
});

test('describes no file under the name of a foreign package, where it would be a duplicate of the original', async () => {
  const responses = await ask(...NAMES.map((value): Question => ({ case: 'fileContainingSymbol', value })));
  const names = responses.flatMap(filesOf).map(({ name }) => name);
  expect(names).toContain('usher/v1/webhook.proto');
  const isOwn = (name: string) => /^(usher\/v1|google\/protobuf|health\/v1|grpc\/reflection\/v1(alpha)?)\//.test(name);
  expect(names.filter((name) => !isOwn(name))).toEqual([]);
});

test('answers a hundred messages of a stream, and refuses the next', async () => {
  const question: Question = { case: 'fileByFilename', value: 'usher/v1/auth.proto' };
  const questions = Array.from({ length: 100 }, () => question);
  expect(await ask(...questions)).toHaveLength(100);
  await expect(ask(...questions, question)).rejects.toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
    details: 'Too many messages on one stream',
  });
});

test('refuses a message of more than 1 KiB', async () => {
  await expect(ask({ case: 'fileByFilename', value: 'a'.repeat(1_025) })).rejects.toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
  });
});

test('answers one message at a time, so that other calls wait for one at most', async () => {
  const reflect = createReflectionHandler();
  let answered = 0;
  const asking = Array.from({ length: 50 }, async () => {
    const question = create(ServerReflectionRequestSchema, { messageRequest: { case: 'listServices', value: '' } });
    const requests = createAsyncIterable([question]);
    for await (const _ of reflect(requests)) answered++;
  });
  const perIteration: number[] = [];
  for (let before = 0; answered < asking.length; before = answered) {
    await nextIteration();
    perIteration.push(answered - before);
  }
  await Promise.all(asking);
  expect(Math.max(...perIteration)).toBeLessThanOrEqual(1);
});
