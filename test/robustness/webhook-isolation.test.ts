/** Endpoints that answer nothing and others that fail do not delay the messages of those that work. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { startUsher } from '../support/process.ts';
import { clientsOf, createTenant, createTestUser, type Tenant } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const PENDING = quickOrLong(5_000, 500_000);
const FAILING = 50;
const PENDING_OF_FAILING = 100;
/** As many attempts may be in flight: so many endpoints could take all slots. */
const HANGING = quickOrLong(150, 300);
const PENDING_OF_HANGING = 100;
const HEALTHY = 5;
const SAMPLES = quickOrLong(11, 4_000);
const PAUSE_MS = 20;
/** The long form, which alone judges latencies, has enough samples for it. */
const PERCENTILE = 99;
const LIMIT = 1.5;
/** How many messages may come one after the other without slow endpoints while one beside them is under way. */
const MAX_OVERTAKING = 100;
/** So many show that it waits for an attempt that hangs. */
const GIVE_UP = 200;
const TIMEOUT_MS = 60_000;
const LONG = { timeout: quickOrLong(300_000, 900_000) };

test(
  'healthy endpoints get messages as soon beside many that hang, one of them with a backlog, and 50 that fail as without them',
  LONG,
  async (context) => {
    await using receiver = await WebhookReceiver.open();
    receiver.respond = ({ path }, response) => {
      if (/^\/(silent|hanging)/.test(path)) return;
      response.writeHead(path.startsWith('/failing') ? 500 : 204).end();
    };
    // Side by side, so that a busy machine is busy for both.
    await using alone = await openSide(receiver, 'alone');
    await using besideSlow = await openSide(receiver, 'besideSlow');
    await besideSlow.addBacklog('silent', 1, PENDING);
    await besideSlow.addBacklog('failing', FAILING, PENDING_OF_FAILING);
    await besideSlow.addBacklog('hanging', HANGING, PENDING_OF_HANGING, { hasWorked: false });
    await expect
      .poll(() => receiver.messages.filter(({ path }) => path.startsWith('/failing')).length, { timeout: 120_000 })
      .toBeGreaterThan(FAILING);

    const overtaking: number[] = [];
    for (let sample = 0; sample < SAMPLES; sample++) {
      if (quickOrLong(true, false)) overtaking.push(await countOvertaking(alone, besideSlow));
      else await Promise.all([alone.change(), besideSlow.change(), sleep(PAUSE_MS)]);
    }
    const sides = [alone, besideSlow];
    if (quickOrLong(false, true))
      await expect.poll(() => sides.map((side) => side.latencies().length)).toEqual([SAMPLES, SAMPLES]);
    const [aloneMs = Number.NaN, besideSlowMs = Number.NaN] = sides.map((side) =>
      quantile(side.latencies(), PERCENTILE / 100),
    );
    const attempts = (name: string) => receiver.messages.filter(({ path }) => path.startsWith(`/${name}`)).length;
    report(context, {
      tried: `${SAMPLES} changes beside ${PENDING} messages for a silent endpoint (${attempts('silent')} attempts), ${HANGING} endpoints that hang (${attempts('hanging')} attempts) and ${FAILING} that fail (${attempts('failing')} attempts)`,
      figures: `p${PERCENTILE} ${aloneMs.toFixed(0)} ms without them, ${besideSlowMs.toFixed(0)} ms beside them; overtaken by ${overtaking}`,
    });
    if (quickOrLong(false, true)) expect(besideSlowMs / aloneMs).toBeLessThanOrEqual(LIMIT);
    // A busy machine stalls one process or the other.
    else expect(quantile(overtaking, 0.5)).toBeLessThanOrEqual(MAX_OVERTAKING);
  },
);

type Side = Awaited<ReturnType<typeof openSide>>;

/** Returns how many messages of the first side came, one after the other, while one of the second was under way. */
async function countOvertaking(first: Side, second: Side): Promise<number> {
  const eventId = await second.change();
  let count = 0;
  for (; count < GIVE_UP && !second.hasCome(eventId); count++) {
    const overtaking = await first.change();
    await vi.waitUntil(() => first.hasCome(overtaking), { timeout: TIMEOUT_MS, interval: 1 });
  }
  return count;
}

/** Usher on a database of its own, with healthy endpoints. */
async function openSide(receiver: WebhookReceiver, name: string) {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await cloneDatabase());
  const usher = stack.use(
    await startUsher(database.url, { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS) }),
  );
  const subscribe = async (path: string) => {
    const tenant = await createTenant(usher);
    const { id: ownerId } = await createTestUser(usher, { applicationIds: [tenant.id] });
    const fields = { url: `${receiver.url}/${path}`, ownerId, eventTypes: ['event.created'] };
    const { webhook } = await clientsOf(usher, tenant).webhooks.createWebhook(fields);
    return { tenant, webhookId: webhook?.webhookId ?? '' };
  };
  const healthy: Tenant[] = [];
  while (healthy.length < HEALTHY) healthy.push((await subscribe(name)).tenant);
  const begun = new Map<string, number>();

  const disposables = stack.move();
  return {
    /** Creates endpoints that have worked until now, or are new, each with so many messages. */
    async addBacklog(path: string, endpoints: number, count: number, { hasWorked = true } = {}) {
      for (let number = 0; number < endpoints; number++) {
        const { tenant, webhookId } = await subscribe(`${path}/${number}`);
        await insertPending(database, tenant.id, webhookId, { count, hasWorked });
      }
    },
    /** Resolves to the ID of an event that it has created. */
    async change(): Promise<string> {
      const eventId = randomUUID();
      const apiKey = healthy[begun.size % HEALTHY]?.apiKey ?? '';
      begun.set(eventId, performance.now());
      const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
      const reply = await fetch(`${usher.url}/api/events`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ eventId }),
      });
      expect(reply.status, await reply.text()).toBe(201);
      return eventId;
    },
    hasCome: (eventId: string) => receiver.at(`/${name}`).some(({ json }) => json.data.eventId === eventId),
    /** Returns how long each change took to reach its endpoint. */
    latencies: () =>
      receiver.at(`/${name}`).map(({ at, json }) => at - (begun.get(String(json.data.eventId)) ?? Number.NaN)),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

async function insertPending(
  { sql }: TestDatabase,
  applicationId: string,
  webhookId: string,
  { count, hasWorked }: { count: number; hasWorked: boolean },
): Promise<void> {
  await sql`
    with message as (
      insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
      select ${applicationId}, 'event.created', '{"type":"event.created","data":{}}', now(), null
      from generate_series(1, ${count}::int)
      returning id
    ), delivery as (
      insert into webhook_deliveries (application_id, webhook_id, message_id, created_at, due_at)
      select ${applicationId}, ${webhookId}, id, now(), now() from message
    )
    insert into webhook_queues (application_id, webhook_id, next_at, wake_count, batch_size, is_quick)
    values (${applicationId}, ${webhookId}, now(), 1, ${hasWorked ? 32 : 1}, ${hasWorked})`;
}

function quantile(values: readonly number[], fraction: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * fraction)] ?? Number.NaN;
}
