import { afterAll, expect, test } from 'vitest';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { cloneDatabase } from '../../support/database.ts';
import { holdLock } from '../../support/lock.ts';
import { type Answer, call, PROTOCOLS, type Protocol, RPC_PROTOCOLS } from '../../support/protocols.ts';
import { createTenant, createTestEvent, startTestService } from '../../support/service.ts';

const REQUEST_TIMEOUT_MS = 1_000;

const UNAVAILABLE = { code: 'unavailable', message: 'Service unavailable', fields: [], data: undefined };
const DEADLINE_EXCEEDED = { code: 'deadline_exceeded', message: 'Deadline exceeded', fields: [], data: undefined };

const database = await cloneDatabase();
const patient = await startTestService({ database });
const tenant = await createTenant(patient);
const eventId = await createTestEvent(patient, tenant);
await patient.close();
// Enough connections for each call to have its own.
const config = { requestTimeoutMs: REQUEST_TIMEOUT_MS, databaseConnections: 64 };
const service = await startTestService({ database, config });
const lock = await holdLock(database, 'select from events for update');

afterAll(async () => {
  await lock.release();
  await service.close();
  await database[Symbol.asyncDispose]();
});

test('a call that waits for Postgres is unavailable at the deadline of the service, over every protocol', async () => {
  const startedAt = performance.now();
  await expectAnswers(PROTOCOLS, UNAVAILABLE);
  expect(performance.now() - startedAt).toBeGreaterThan(REQUEST_TIMEOUT_MS - 2);
});

test.each([0, 1, 150])('it exceeds a deadline of %d ms of the caller, over every RPC protocol', async (timeoutMs) => {
  await expectAnswers(RPC_PROTOCOLS, DEADLINE_EXCEEDED, String(timeoutMs));
});

test('it is unavailable at the deadline of the service if that of the caller is later', async () => {
  await expectAnswers(RPC_PROTOCOLS, UNAVAILABLE, '99999999');
});

test('it is invalid with a malformed timeout, over every RPC protocol', async () => {
  await expectAnswers(RPC_PROTOCOLS, { code: 'invalid_argument' }, 'soon');
});

/** Makes the call over each protocol, all at once. */
async function expectAnswers(protocols: readonly Protocol[], expected: Partial<Answer>, timeout?: string) {
  const { deleteEvent } = EventService.method;
  const answers = protocols.map((protocol) => {
    const unit = protocol.timeoutHeader === 'grpc-timeout' ? 'm' : '';
    const deadline: Record<string, string> = timeout ? { [protocol.timeoutHeader]: `${timeout}${unit}` } : {};
    return call(protocol, service.url, deleteEvent, { eventId }, { 'x-api-key': tenant.apiKey, ...deadline });
  });
  for (const [at, answer] of (await Promise.all(answers)).entries()) {
    expect(answer, protocols[at]?.name).toMatchObject(expected);
  }
}
