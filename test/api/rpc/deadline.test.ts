import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { cloneDatabase, type TestDatabase } from '../../support/database.ts';
import { holdLock, type Lock } from '../../support/lock.ts';
import { type Answer, call, PROTOCOLS, type Protocol, RPC_PROTOCOLS } from '../../support/protocols.ts';
import {
  createTenant,
  createTestEvent,
  startTestService,
  type Tenant,
  type TestService,
} from '../../support/service.ts';

const REQUEST_TIMEOUT_MS = 1_000;

const UNAVAILABLE = { code: 'unavailable', message: 'Service unavailable', fields: [], data: undefined };
const DEADLINE_EXCEEDED = { code: 'deadline_exceeded', message: 'Deadline exceeded', fields: [], data: undefined };

describe('a call that waits for Postgres', () => {
  let database: TestDatabase;
  let service: TestService;
  let tenant: Tenant;
  let eventId: string;
  let lock: Lock;

  beforeAll(async () => {
    database = await cloneDatabase();
    {
      await using patient = await startTestService({ database });
      tenant = await createTenant(patient);
      eventId = await createTestEvent(patient, tenant);
    }
    // Enough connections for each call to have its own.
    const config = { requestTimeoutMs: REQUEST_TIMEOUT_MS, databaseConnections: 64 };
    service = await startTestService({ database, config });
    lock = await holdLock(database, 'select from events for update');
  });

  afterAll(async () => {
    await lock.release();
    await service.close();
    await database[Symbol.asyncDispose]();
  });

  const deleteEvent = (protocol: Protocol, timeout: Record<string, string> = {}) => {
    const headers = { 'x-api-key': tenant.apiKey, ...timeout };
    return call(protocol, service.url, EventService.method.deleteEvent, { eventId }, headers);
  };

  test('is unavailable at the deadline of the service, over every protocol', async () => {
    const startedAt = performance.now();
    await expectAnswers(PROTOCOLS, UNAVAILABLE, deleteEvent);
    expect(performance.now() - startedAt).toBeGreaterThan(REQUEST_TIMEOUT_MS - 2);
  });

  test.each([0, 1, 150])('exceeds a deadline of %d ms of the caller, over every RPC protocol', async (timeoutMs) => {
    await expectAnswers(RPC_PROTOCOLS, DEADLINE_EXCEEDED, (protocol) =>
      deleteEvent(protocol, timeoutHeader(protocol, timeoutMs)),
    );
  });

  test('is unavailable at the deadline of the service if that of the caller is later', async () => {
    await expectAnswers(RPC_PROTOCOLS, UNAVAILABLE, (protocol) =>
      deleteEvent(protocol, timeoutHeader(protocol, 99_999_999)),
    );
  });

  test('is invalid with a malformed timeout, over every RPC protocol', async () => {
    const headers = { 'connect-timeout-ms': 'soon', 'grpc-timeout': 'soon' };
    await expectAnswers(RPC_PROTOCOLS, { code: 'invalid_argument' }, async (protocol) => {
      const { code } = await deleteEvent(protocol, headers);
      return { code };
    });
  });
});

/** Makes the call over each protocol, all at once. */
async function expectAnswers(
  protocols: readonly Protocol[],
  expected: Partial<Answer>,
  callOver: (protocol: Protocol) => Promise<Partial<Answer>>,
): Promise<void> {
  const answers = await Promise.all(protocols.map(async (protocol) => [protocol.name, await callOver(protocol)]));
  expect(answers).toEqual(protocols.map(({ name }) => [name, expected]));
}

function timeoutHeader({ name }: Protocol, timeoutMs: number): Record<string, string> {
  return name.startsWith('Connect') ? { 'connect-timeout-ms': String(timeoutMs) } : { 'grpc-timeout': `${timeoutMs}m` };
}
