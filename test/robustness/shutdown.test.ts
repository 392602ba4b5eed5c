import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CreateEventRequestSchema, EventService } from '../../gen/usher/v1/event_pb.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { HttpPool } from '../support/http.ts';
import { startLoad } from '../support/load.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { createTenant } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const ROUNDS = quickOrLong(1, 20);
const CALLERS = 32;
/** How many calls the service has answered before the signal. */
const WARM_UP_CALLS = 200;
/** The service's own limit, and what it allows for closing the database. */
const SHUTDOWN_MS = 15_000;
/** Outcomes of calls that the service has not accepted. */
const NOT_ACCEPTED = /ECONNREFUSED|^503$|UNAVAILABLE Service unavailable/;

let database: TestDatabase;
let apiKey: string;

beforeAll(async () => {
  database = await cloneDatabase();
  await using service = await startUsher(database.url);
  ({ apiKey } = await createTenant(service));
});

afterAll(() => database[Symbol.asyncDispose]());

test.for([
  { protocol: 'HTTP/1.1', open: openHttp1 },
  { protocol: 'gRPC over HTTP/2', open: openGrpc },
])(
  'SIGTERM under load over $protocol drops no call and ends the process in time',
  async ({ protocol, open }, context) => {
    const created: string[] = [];
    const dropped: string[] = [];
    let slowestExitMs = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await using service = await startUsher(database.url);
      using creator = open(service);
      let made = 0;
      const createEvent = async () => {
        const eventId = `${protocol}-${round}-${made++}`;
        const outcome = await creator.createEvent(eventId);
        if (outcome === 'ok') created.push(eventId);
        else if (!NOT_ACCEPTED.test(outcome)) dropped.push(`${eventId}: ${outcome}`);
        return outcome;
      };
      const load = startLoad({ createEvent }, { callers: CALLERS });
      await expect.poll(() => load.answers.length, { interval: 5 }).toBeGreaterThan(WARM_UP_CALLS);

      const askedAt = performance.now();
      expect(await service.end('SIGTERM')).toBe(0);
      slowestExitMs = Math.max(slowestExitMs, performance.now() - askedAt);
      await load.stop();
    }

    const rows = await database.sql<{ id: string }[]>`select id from events where starts_with(id, ${protocol})`;
    report(context, {
      tried: `${ROUNDS} times SIGTERM under load over ${protocol}, ${created.length} calls answered`,
      lost: `${dropped.length} calls`,
      figures: `the slowest exit took ${Math.round(slowestExitMs)} ms`,
    });
    expect(dropped).toEqual([]);
    // Every acknowledged event exists, and no other.
    expect(rows.map(({ id }) => id).sort()).toEqual(created.sort());
    expect(slowestExitMs).toBeLessThan(SHUTDOWN_MS);
  },
);

/** Its `createEvent` resolves to `ok`, or to the error. */
function openHttp1(service: UsherProcess) {
  const pool = new HttpPool(service, { 'x-api-key': apiKey }, { connections: CALLERS });
  const createEvent = (eventId: string) =>
    pool.call('POST', '/usher.v1.EventService/CreateEvent', { eventId }).then(
      ({ status }) => (status === 200 ? 'ok' : String(status)),
      (error) => String(error.code ?? error),
    );
  return { createEvent, [Symbol.dispose]: () => pool[Symbol.dispose]() };
}

function openGrpc(service: UsherProcess) {
  const client = new GrpcClient(service);
  const headers = { 'x-api-key': apiKey };
  const createEvent = async (eventId: string) => {
    const message = create(CreateEventRequestSchema, { eventId });
    const { code, details } = await client.unary(EventService.method.createEvent, message, { headers });
    return code === 'OK' ? 'ok' : `${code} ${details}`;
  };
  return { createEvent, [Symbol.dispose]: () => client[Symbol.dispose]() };
}
