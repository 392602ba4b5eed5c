/** Every operation, called by grpc-js and Python's grpcio. With curl and buf curl: reference.test.ts. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type DescMethodUnary, fromBinary, fromJson, fromJsonString, type Message, toJson } from '@bufbuild/protobuf';
import { afterAll, expect, test } from 'vitest';
import { GrpcClient } from '../support/grpc-client.ts';
import { OPERATIONS } from '../support/operations.ts';
import { REPOSITORY } from '../support/process.ts';
import { CONNECT, call } from '../support/protocols.ts';
import { credentialFor, sampleFields } from '../support/samples.ts';
import { createTenant, startTestService } from '../support/service.ts';
import { lacks, PYTHON_PATH } from '../support/tools.ts';

/** Debian's, which has the packages that `apt-get` installs. */
const CALL_ALL = join(REPOSITORY, 'test/support/call_all.py');
const BUF = join(REPOSITORY, 'node_modules/.bin/buf');

const operations = OPERATIONS.map((operation) => ({ ...operation, name: operation.method.name }));
type NamedOperation = (typeof operations)[number];

const service = await startTestService();
const tenant = await createTenant(service);
afterAll(() => service.close());

/** Returns a new request of the operation. */
async function prepare(operation: NamedOperation) {
  const { method } = operation;
  return { method, fields: await sampleFields(method, { service, tenant }), headers: credentialFor(operation, tenant) };
}

/** Expects the response to have the fields that it has over Connect. */
async function expectResponse(operation: NamedOperation, response: Message | undefined): Promise<void> {
  const { method, fields, headers } = await prepare(operation);
  const { code, data } = await call(CONNECT, service.url, method, fields, headers);
  expect(code, operation.name).toBe('ok');
  const json = response && toJson(method.output, response, { alwaysEmitImplicit: true });
  expect(Object.keys(json ?? {}), operation.name).toEqual(Object.keys(data ?? {}));
}

test.each(['grpc', 'grpcweb'])('buf curl calls over %s, with the schema that reflection shows', async (protocol) => {
  const [operation] = operations;
  if (!operation) throw new Error('No operation');
  const { method, fields, headers } = await prepare(operation);
  const options = ['--protocol', protocol, '--http2-prior-knowledge', '--data', '@-', ...toOptions(headers)];
  const response = await run(BUF, ['curl', ...options, service.url + pathOf(method)], JSON.stringify(fields));
  await expectResponse(operation, fromJsonString(method.output, response));
});

test('grpc-js calls every operation', async () => {
  using client = new GrpcClient(service);
  for (const operation of operations) {
    const { method, fields, headers } = await prepare(operation);
    const { code, message } = await client.unary(method, fromJson(method.input, fields), { headers });
    expect(code, operation.name).toBe('OK');
    await expectResponse(operation, message);
  }
});

test.skipIf(lacks('PYTHON_GRPC'))("Python's grpcio calls every operation", async () => {
  const calls = await Promise.all(
    operations.map(async (operation) => {
      const { method, fields, headers } = await prepare(operation);
      return { path: pathOf(method), input: method.input.typeName, output: method.output.typeName, fields, headers };
    }),
  );
  const schema = ['build', '--as-file-descriptor-set', '--output', '-#format=json'];
  const descriptors = JSON.parse(await run(BUF, schema));
  const todo = { address: `127.0.0.1:${service.port}`, descriptors, calls };
  const lines = (await run(PYTHON_PATH, [CALL_ALL], JSON.stringify(todo))).split('\n');
  for (const [index, operation] of operations.entries()) {
    const outcome = JSON.parse(lines[index] ?? '{}');
    expect(outcome, operation.name).toMatchObject({ code: 'OK' });
    const { output } = operation.method;
    await expectResponse(operation, fromBinary(output, Buffer.from(outcome.message, 'base64')));
  }
});

function pathOf({ parent, name }: DescMethodUnary): string {
  return `/${parent.typeName}/${name}`;
}

function toOptions(headers: Record<string, string>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
}

/** Runs it with the text on its standard input, and returns what it prints. */
async function run(tool: string, args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)(tool, args, { cwd: REPOSITORY, maxBuffer: 10 ** 8 });
  running.child.stdin?.end(input);
  return (await running).stdout;
}
