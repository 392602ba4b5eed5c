/** Endpoints whose process has died: another one goes on within seconds, whatever an attempt may take. */
import { afterAll, expect, test } from 'vitest';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { cloneDatabase } from '../support/database.ts';
import { countClaims, watchLeases } from '../support/lease-log.ts';
import { startUsher } from '../support/process.ts';
import { clientsOf, createTenant, createTestUser } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const ATTEMPT_TIMEOUT_MS = 60_000;
/** A lease, and the polls and statements of the process that takes over. Only the long form judges the time of the latter. */
const SILENCE_MS = ATTEMPT_TIMEOUT_MS / 2;
const LONG = { timeout: 300_000 };
const ENV = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_TIMEOUT_MS: String(ATTEMPT_TIMEOUT_MS),
};

const receiver = await WebhookReceiver.open();
/** The paths of endpoints that answer. */
const answering = new Set<string>();
receiver.respond = ({ path }, response) => {
  if (answering.has(path)) response.writeHead(204).end();
};
afterAll(() => receiver[Symbol.asyncDispose]());

const HELD = [
  { held: 'an ordered queue', ordered: true, path: '/ordered' },
  { held: 'a slow delivery', ordered: false, path: '/slow' },
];

test(
  'kill -9 of the processes that hold an ordered queue and a slow delivery silences their endpoints for seconds',
  LONG,
  async (context) => {
    await using database = await cloneDatabase();
    await watchLeases(database.sql);
    await using holder = await startUsher(database.url, ENV);
    const tenant = await createTenant(holder);
    const { webhooks, events } = clientsOf(holder, tenant);
    const { id: ownerId } = await createTestUser(holder, { applicationIds: [tenant.id] });
    const endpoints = await Promise.all(
      HELD.map(async (each) => {
        const { ordered, path } = each;
        const fields = { url: `${receiver.url}${path}`, eventTypes: ['event.created'], ownerId, ordered };
        return { ...each, webhookId: (await webhooks.createWebhook(fields)).webhook?.webhookId ?? '' };
      }),
    );
    await events.createEvent({ eventId: 'held' });
    for (const { path } of endpoints) await expect.poll(() => receiver.at(path).length).toBeGreaterThan(0);
    const firstEnds = new Map<string, number>();
    /** Returns how long the current lease goes on, and by how much it has been extended. On a busy machine one may end and another begin. */
    const readLease = async ({ ordered, webhookId }: (typeof endpoints)[number]) => {
      const [row] = await database.sql`
      select queue.lease::text, next_at, due_at, lease_end::text
      from webhook_queues as queue join webhook_deliveries using (webhook_id) where webhook_id = ${webhookId}`;
      const [lease, endsAt] = ordered ? [row?.lease, row?.next_at] : [row?.lease_end, row?.due_at];
      if (!lease) return { extendedMs: 0, leftMs: 0 };
      if (!firstEnds.has(lease)) firstEnds.set(lease, Number(endsAt));
      const extendedMs = Number(endsAt) - (firstEnds.get(lease) ?? Number.NaN);
      return { extendedMs, leftMs: Number(endsAt) - Date.now() };
    };
    await using other = await startUsher(database.url, ENV);
    const sent = new Map<string, number>();
    await Promise.all(
      endpoints.map(async (endpoint) => {
        const { path, webhookId } = endpoint;
        await expect
          .poll(async () => (await readLease(endpoint)).extendedMs, { timeout: 200_000 })
          .toBeGreaterThan(5_000);
        // While a lease was extended nobody else has sent the message.
        sent.set(path, receiver.at(path).length);
        expect(sent.get(path)).toBeLessThanOrEqual(await countClaims(database.sql, webhookId));
      }),
    );

    for (const { path } of endpoints) answering.add(path);
    // Whichever holds the leases.
    await Promise.all([holder.end('SIGKILL'), other.end('SIGKILL')]);
    for (const endpoint of endpoints) expect((await readLease(endpoint)).leftMs).toBeLessThan(SILENCE_MS);
    await using _next = await startUsher(database.url, ENV);
    const startedAt = performance.now();
    for (const { held, path } of endpoints) {
      await expect
        .poll(() => receiver.at(path).length, { timeout: quickOrLong(120_000, SILENCE_MS) })
        .toBeGreaterThan(sent.get(path) ?? Number.NaN);
      report(context, {
        tried: `kill -9 of the holder of ${held}`,
        figures: `silent for ${((performance.now() - startedAt) / 1_000).toFixed(1)} s after the start of another, where an attempt may take 60 s`,
      });
    }
  },
);
