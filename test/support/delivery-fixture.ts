/** A service, and workers that hand messages to the test instead of endpoints. Time is the test's. */
import { expect, onTestFinished } from 'vitest';
import { Database, type PlaceholderValues } from '../../src/database/pool/database.ts';
import type { AttemptRequest } from '../../src/delivery/attempt.ts';
import type { AttemptOutcome } from '../../src/delivery/http-exchange.ts';
import { DeliveryWorker } from '../../src/delivery/worker.ts';
import { RowCipher } from '../../src/domain/crypto/aes-gcm.ts';
import { createLogger } from '../../src/log.ts';
import { TestClock } from './clock.ts';
import { LAYOUT } from './database.ts';
import { clientsOf, createTenant, createTestUser, startTestService } from './service.ts';

export type Send = (request: AttemptRequest, signal?: AbortSignal) => Promise<AttemptOutcome> | AttemptOutcome;

/** Returns the outcome of an attempt that was answered so. */
export const answer = (statusCode: number): AttemptOutcome => ({
  statusCode,
  error: statusCode < 300 ? null : `The endpoint answered with status ${statusCode}`,
  responseBody: '',
  retryAfter: undefined,
});

export const eventIdOf = ({ body }: AttemptRequest): string => JSON.parse(body).data.eventId;

export interface WorkerOptions {
  readonly schedule?: readonly number[];
  readonly database?: Database;
  readonly shutdownTimeoutMs?: number;
  readonly concurrency?: number;
}

export async function openDeliveryFixture() {
  const clock = new TestClock();
  const service = await startTestService({ clock: clock.read });
  const { sql } = service.database;
  const { encryptionKeys = [] } = service.config.secrets;

  /** Let statements go that tests hold back. */
  const releases: (() => void)[] = [];

  /** Starts a worker that hands each request to `send` instead of an endpoint. Returns what stops it. */
  function startWorker(send: Send, { schedule = [0, 0], ...options }: WorkerOptions = {}) {
    const database =
      options.database ??
      new Database(service.database.url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });
    const end = Promise.withResolvers<AttemptOutcome>();
    const worker = new DeliveryWorker({
      ...{ cipher: new RowCipher(encryptionKeys), clock: clock.read, logger: createLogger('silent') },
      outcomes: { pending: 0, succeeded: 0, failed: 0 },
      run: database.eachWithin(60_000),
      sender: { send: async (...attempt: Parameters<Send>) => Promise.race([send(...attempt), end.promise]) },
      ...{ schedule, userAgent: 'test', concurrency: options.concurrency ?? 8 },
    });
    const signal = new AbortController();
    const ended = worker.run(signal.signal, options.shutdownTimeoutMs ?? 20_000);
    const stop = async () => {
      signal.abort();
      await ended;
      await database.close();
    };
    onTestFinished(async () => {
      const stopped = stop();
      // A test that has failed leaves attempts unanswered, and statements held back.
      end.resolve(answer(500));
      for (const release of releases.splice(0)) release();
      await stopped;
    });
    return { stop };
  }

  /** Creates a webhook of a new application that is told of new events. */
  async function subscribe({ ordered = false } = {}) {
    const tenant = await createTenant(service);
    const { webhooks, events } = clientsOf(service, tenant);
    const { id: ownerId } = await createTestUser(service, { applicationIds: [tenant.id] });
    const fields = { url: 'https://hooks.test', ownerId, eventTypes: ['event.created'], ordered };
    const addWebhook = async () => (await webhooks.createWebhook(fields)).webhook?.webhookId ?? '';
    const webhookId = await addWebhook();
    const list = async () => (await webhooks.listDeliveries({ webhookId, pageSize: 100 })).deliveries;
    const getWebhook = async () => (await webhooks.getWebhook({ webhookId })).webhook;
    return { tenant, webhooks, events, webhookId, list, getWebhook, addWebhook };
  }

  /** Has another webhook deliver a message, after which all that was due before has been looked at. */
  async function deliverToAnother(): Promise<void> {
    const { events, list } = await subscribe();
    await events.createEvent({ eventId: 'other' });
    await expect.poll(list).toMatchObject([{ status: 'succeeded' }]);
  }

  /** Opens a database whose statements can be made to fail or to wait. */
  function openMortalDatabase() {
    const database = new Database(service.database.url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });
    let fails = (_: PlaceholderValues) => false;
    let hold = async (_: PlaceholderValues): Promise<void> => {};
    const run = database.run.bind(database);
    database.run = async (statement, parameters, deadline) => {
      await hold(parameters);
      if (fails(parameters)) throw new Error('The statement fails');
      return run(statement, parameters, deadline);
    };
    const failWhen = (condition: typeof fails) => {
      fails = condition;
    };
    /** Holds statements back until `end`. Resolves when there is one. */
    const holdBack = (condition: typeof fails, end: Promise<unknown>) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      releases.push(released.resolve);
      hold = async (parameters) => {
        if (!condition(parameters)) return;
        resolve();
        await Promise.race([end, released.promise]);
      };
      return promise;
    };
    return { database, failWhen, holdBack, die: () => failWhen(() => true) };
  }

  const readQueue = async (webhookId: string) =>
    (await sql`select * from webhook_queues where webhook_id = ${webhookId}`)[0] ?? {};

  return { clock, service, sql, startWorker, subscribe, deliverToAnother, openMortalDatabase, readQueue };
}
