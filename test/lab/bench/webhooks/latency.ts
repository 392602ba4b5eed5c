/** The time from a change to the receipt of its message, on the replica that makes the change and on another. */
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../measure-load.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { USHER } from '../servers.ts';
import { type RunningServer, startServer } from '../start-server.ts';
import type { Scene } from './scene.ts';

const SAMPLES = 300;
const PAUSE_MS = 20;
const LIMITS = { sameP50: 50, otherP99: 1_500 };

/** Prints a table. Returns whether the limits are met. */
export async function measureLatency(scene: Scene): Promise<boolean> {
  const { sql, receiver, fixtures } = scene;
  const [row] = await sql`
    update webhooks set url = ${`${receiver.url}/latency`}, event_types = '{event.created}'
    where application_id = ${fixtures.application.id} and id = (
      select min(id) from webhooks where application_id = ${fixtures.application.id})
    returning id`;
  const same = await measure(scene, [{ WEBHOOK_DELIVERY: 'true' }]);
  const other = await measure(scene, [{ WEBHOOK_DELIVERY: 'false' }, { WEBHOOK_DELIVERY: 'true' }]);
  await sql`update webhooks set event_types = '{}' where id = ${row?.id}`;
  const describe = (name: string, latencies: Float64Array) => [
    name,
    ...[0.5, 0.99, 1].map((fraction) => quantile(latencies, fraction).toFixed(0)),
  ];
  process.stdout.write(
    layOutTable(
      ['change to receipt, ms', 'p50', 'p99', 'longest'],
      [describe('the replica that makes the change', same), describe('another replica', other)],
    ),
  );
  return quantile(same, 0.5) <= LIMITS.sameP50 && quantile(other, 0.99) <= LIMITS.otherP99;
}

/** Makes changes at the first of the replicas. Their beginning counts, so the latencies are too long by the call. */
async function measure(
  { receiver, environment, directory, fixtures }: Scene,
  replicas: readonly Record<string, string>[],
): Promise<Float64Array> {
  await using stack = new AsyncDisposableStack();
  const servers: RunningServer[] = [];
  for (const settings of replicas)
    servers.push(await startServer(stack, USHER, { environment: { ...environment, ...settings }, directory }));
  const headers = { 'x-api-key': fixtures.apiKey, 'content-type': 'application/json' };
  const url = `http://127.0.0.1:${servers[0]?.ports['1.1']}/api/events`;
  const warmUp = SAMPLES / 4;
  const { arrived } = await receiver.expect(SAMPLES + warmUp);
  const begun = new Map<string, number>();
  for (let number = 0; number < SAMPLES + warmUp; number++) {
    const eventId = `latency-${crypto.randomUUID()}`;
    if (number >= warmUp) begun.set(eventId, performance.timeOrigin + performance.now());
    const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ eventId }) });
    if (!reply.ok) throw new Error(await reply.text());
    await reply.arrayBuffer();
    await sleep(PAUSE_MS);
  }
  const latencies = (await arrived).flatMap(([body, at]) => at - (begun.get(JSON.parse(body).data.eventId) ?? at));
  return Float64Array.from(latencies.filter((latency) => latency > 0)).sort();
}
