/** A service that a test closes while requests are in progress. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../src/config/config.ts';
import type { TestDatabase } from './database.ts';
import { request } from './http.ts';
import { lockEvent } from './lock.ts';
import { RawConnection } from './raw-connection.ts';
import { createTenant, createTestEvent, startTestService } from './service.ts';

/** Calls wait for locks for as long as a test holds them. */
const PATIENT = { shutdownTimeoutMs: 60_000 };

export type ShutdownFixture = Awaited<ReturnType<typeof openShutdownFixture>>;

/** The database outlives the service. The lock of the event keeps calls in flight. */
export async function openShutdownFixture(database: TestDatabase, config: Partial<Config> = {}) {
  const service = await startTestService({ database, config: { ...PATIENT, ...config } });
  const { apiKey } = await createTenant(service);
  const eventId = await createTestEvent(service, { apiKey });
  return {
    service,
    apiKey,
    eventId,
    key: { 'x-api-key': apiKey },
    lockEvent: () => lockEvent(database, eventId),
    /** Returns the bytes of a DeleteEvent request over HTTP/1.1. */
    deleteRequest: (id = eventId) =>
      `DELETE /api/events/${id} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${apiKey}\r\n\r\n`,
    /** Returns a connection whose bytes the service has read. */
    send: async (bytes: string) => {
      const connection = await RawConnection.open(service.port);
      connection.send(bytes);
      // The service reads connections in turn: after a few round trips it has read these bytes.
      for (let round = 0; round < 3; round++) await request(service.url, { path: '/healthz' });
      return connection;
    },
    /** Begins to close the service and resolves when it accepts no connections. */
    beginClose: async () => {
      const closed = service.close();
      const isOpen = async () => {
        using _ = await RawConnection.open(service.port);
        return true;
      };
      while (await isOpen().catch(() => false)) await sleep(10);
      return { closed };
    },
    isDeleted: async () => {
      const [row] = await database.sql`select deleted_at from events where id = ${eventId}`;
      return row?.deleted_at !== null;
    },
  };
}
