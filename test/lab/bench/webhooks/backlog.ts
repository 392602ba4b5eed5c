/** The cost of a batch with ten million pending deliveries, and with ten thousand. */
import { Database } from '../../../../src/database/pool/database.ts';
import { Batch, type DeliveryParts } from '../../../../src/delivery/batch.ts';
import { Lease } from '../../../../src/delivery/leases.ts';
import { selectDueQueues } from '../../../../src/delivery/queue.ts';
import { Slots } from '../../../../src/delivery/slots.ts';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { createLogger } from '../../../../src/log.ts';
import { onServer } from '../../../../src/testing/on-server.ts';
import { type Fixtures, WEBHOOKS } from '../fixtures.ts';
import { withTables } from '../growth/seed-bulk.ts';
import { seedDatabases } from '../growth/seed-databases.ts';
import { measureRounds } from '../measure-rounds.ts';
import { findBackends, readUsage } from '../read-usage.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import type { Progress } from '../run-bench.ts';
import { medianOf, ratiosOf } from '../statistics.ts';

const FEW = 10_000;
const LIMIT = 1.2;
const BATCH_SIZE = 8;
const SLOTS = 128;
const BATCHES = 100;
const ROUNDS = 10;
const TIMEOUT_MS = 60_000;

interface Costs {
  readonly senderMicros: number;
  readonly postgresMicros: number;
}

/** Prints a table. Returns whether the limit is met. */
export async function measureBacklog(progress: Progress, rows: number): Promise<boolean> {
  await using stack = new AsyncDisposableStack();
  const { urls, fixtures } = await seedDatabases(stack, progress, {
    few: (url, fixtures) => insertBacklog(url, fixtures, FEW),
    many: (url, fixtures) => insertBacklog(url, fixtures, rows),
  });
  const databases = urls.map((url) => {
    const database = new Database(url, { connections: 1, statementTimeoutMs: TIMEOUT_MS });
    stack.defer(() => database.close());
    return { url, parts: createParts(database, fixtures) };
  });
  const costs = await measureRounds(databases, { rounds: ROUNDS, progress }, ({ url, parts }) =>
    measureBatches(url, parts),
  );

  const median = (index: number, metric: keyof Costs) => medianOf((costs[index] ?? []).map((cost) => cost[metric]));
  const totals = costs.map((each) => each.map(({ senderMicros, postgresMicros }) => senderMicros + postgresMicros));
  const ratio = medianOf(ratiosOf(totals[1] ?? [], totals[0] ?? []));
  const table = [FEW, rows].map((count, index) => [
    `${count} pending`,
    ...(['senderMicros', 'postgresMicros'] as const).map((metric) => median(index, metric).toFixed(0)),
    `${(index === 0 ? 1 : ratio).toFixed(2)}x`,
  ]);
  process.stdout.write(layOutTable([`a batch of ${BATCH_SIZE}`, 'Usher us', 'Postgres us', ''], table));
  return ratio <= LIMIT;
}

/** Its endpoints succeed at once, so that claiming and settling alone cost something. */
function createParts(database: Database, { encryptionKey }: Fixtures): DeliveryParts {
  const outcome = { statusCode: 204, error: null, responseBody: '', retryAfter: undefined };
  return {
    cipher: new RowCipher([encryptionKey]),
    clock: () => new Date(),
    logger: createLogger('silent'),
    outcomes: { pending: 0, succeeded: 0, failed: 0 },
    run: database.eachWithin(TIMEOUT_MS),
    sender: { send: async () => outcome },
    schedule: [0, 5],
    userAgent: 'bench',
  };
}

async function measureBatches(url: string, parts: DeliveryParts): Promise<Costs> {
  const postgresMicros = await onServer(url, findBackends);
  const before = [readUsage(process.pid).cpuMicros, postgresMicros()] as const;
  for (let done = 0; done < BATCHES; ) {
    const queues = await parts.run(selectDueQueues, {
      now: new Date(),
      quick: 10,
      unproven: 10,
      failing: 10,
      ...{ quickWaiting: [], unprovenWaiting: [], failingWaiting: [] },
    });
    for (const queue of queues) {
      const slots = new Slots(SLOTS).take({ ...queue, kind: 'quick', batchSize: BATCH_SIZE });
      await new Batch(parts, new Lease(queue, new Date()), new AbortController().signal).run(slots);
    }
    done += queues.length;
  }
  return {
    senderMicros: (readUsage(process.pid).cpuMicros - before[0]) / BATCHES,
    postgresMicros: (postgresMicros() - before[1]) / BATCHES,
  };
}

/** Gives every webhook the same messages. */
async function insertBacklog(url: string, { application }: Fixtures, rows: number): Promise<void> {
  const messages = Math.ceil(rows / WEBHOOKS);
  await withTables(url, ['webhook_deliveries', 'webhook_messages'], async (sql) => {
    await sql`
      insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
      select ${application.id}, 'event.created', '{"type":"event.created","data":{}}', now(), null
      from generate_series(1, ${messages}::int)`;
    await sql`
      insert into webhook_deliveries (application_id, webhook_id, message_id, created_at, due_at)
      select application_id, webhooks.id, message, now(), now() - interval '1 hour' + message * interval '1 microsecond'
      from generate_series(1, ${messages}::int) as message, webhooks`;
  });
  await onServer(
    url,
    (sql) => sql`
      insert into webhook_queues (application_id, webhook_id, next_at, wake_count)
      select application_id, id, now(), 1 from webhooks`,
  );
}
