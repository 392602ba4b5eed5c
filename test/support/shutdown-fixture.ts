/** A service that a test closes, and requests that are in progress at that time. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../src/config/config.ts';
import type { TestDatabase } from './database.ts';
import { request } from './http.ts';
import { type EventLock, lockEvent } from './lock.ts';
import { RawConnection } from './raw-connection.ts';
import { createTenant, createTestEvent, startTestService, type Tenant, type TestService } from './service.ts';

/** A service with an event whose lock keeps calls in flight; the database outlives the service. */
export class ShutdownFixture {
  readonly eventId: string;
  readonly service: TestService;
  readonly tenant: Tenant;

  private constructor(service: TestService, tenant: Tenant, eventId: string) {
    this.service = service;
    this.tenant = tenant;
    this.eventId = eventId;
  }

  static async open(database: TestDatabase, config: Partial<Config> = {}): Promise<ShutdownFixture> {
    const service = await startTestService({ database, config: { shutdownTimeoutMs: 10_000, ...config } });
    const tenant = await createTenant(service);
    return new ShutdownFixture(service, tenant, await createTestEvent(service, tenant));
  }

  get key(): Record<string, string> {
    return { 'x-api-key': this.tenant.apiKey };
  }

  lockEvent(): Promise<EventLock> {
    return lockEvent(this.service.database, this.eventId);
  }

  /** The bytes of a DeleteEvent request over HTTP/1.1. */
  deleteRequest(eventId = this.eventId): string {
    return `DELETE /api/events/${eventId} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${this.tenant.apiKey}\r\n\r\n`;
  }

  /** Returns a connection whose bytes the service has read. */
  async send(bytes: string | Buffer): Promise<RawConnection> {
    const connection = await RawConnection.open(this.service.port);
    connection.send(bytes);
    await this.#waitUntilRead();
    return connection;
  }

  /** Begins to close the service and resolves when it accepts no connections. */
  async beginClose(): Promise<{ closed: Promise<void> }> {
    const closed = this.service.close();
    await this.#refusesConnections();
    return { closed };
  }

  async isDeleted(): Promise<boolean> {
    const [row] = await this.service.database.sql`select deleted_at from events where id = ${this.eventId}`;
    return row?.deleted_at !== null;
  }

  /** The service reads connections in turn: after a few round trips it has read what was sent before. */
  async #waitUntilRead(): Promise<void> {
    for (let round = 0; round < 3; round++) await request(this.service.url, { path: '/healthz' });
  }

  async #refusesConnections(): Promise<void> {
    for (let attempt = 0; attempt < 1_000; attempt++) {
      const socket = connect(this.service.port, '127.0.0.1');
      try {
        await once(socket, 'connect');
      } catch {
        return;
      } finally {
        socket.destroy();
      }
      await sleep(10);
    }
    throw new Error('The service still accepts connections');
  }
}
