/** The option of Node in the image: how much memory V8 has for young objects where a container limits all of it. */
import { afterAll, expect, test } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import type { Client } from '../lab/bench/load/client.ts';
import { Meter } from '../lab/bench/meter.ts';
import { rest } from '../lab/bench/protocols.ts';
import { medianOf } from '../lab/bench/statistics.ts';
import { cloneDatabase } from '../support/database.ts';
import { CONTAINER_BYTES, CONTAINER_NODE_OPTIONS, limitMemory } from '../support/memory-limit.ts';
import { startUsher } from '../support/process.ts';
import { createTenant, createTestWebhook, REDIRECT_URI } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const MB = 1024 * 1024;
const CONCURRENCY = 64;
const REQUESTS = 10_000;
const ROUNDS = 9;
/** Without the option a call costs more. If it no longer does, the Dockerfile needs no option. */
const MAX_RATIO = 0.9;
const MAX_RESIDENT_BYTES = 256 * MB;

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

test.runIf(quickOrLong(false, true))(
  'calls in 512 MiB cost less CPU time with the option of the image',
  async (context) => {
    const database = stack.use(await cloneDatabase());
    const start = async (nodeOptions: string) => {
      const limit = limitMemory(CONTAINER_BYTES);
      if (typeof limit === 'string') throw new Error(limit);
      stack.use(limit);
      const usher = stack.use(
        await startUsher(database.url, { NODE_OPTIONS: nodeOptions }, { cgroup: limit.processes }),
      );
      const server = { name: 'usher', pid: usher.pid, ports: { '1.1': usher.port, '2': usher.port } } as const;
      return { usher, meter: new Meter(stack, server, { databaseUrl: database.url, concurrency: CONCURRENCY }) };
    };
    const servers = { without: await start(''), with: await start(CONTAINER_NODE_OPTIONS) };
    const tenant = await createTenant(servers.with.usher);
    const { webhookId } = await createTestWebhook(servers.with.usher, tenant);
    const calls = {
      GetWebhook: rest.encode(WebhookService.method.getWebhook, { webhookId }),
      GenerateAuthUrl: rest.encode(AuthService.method.generateAuthUrl, {
        clientId: tenant.clientId,
        redirectUri: REDIRECT_URI,
        state: 'state',
      }),
    };
    const measure = async (server: keyof typeof servers, { headers, ...call }: (typeof calls)[keyof typeof calls]) => {
      const sent = { ...call, headers: { ...headers, 'x-api-key': tenant.apiKey } };
      const run = async (client: Client) => void (await client.send(sent));
      return (await servers[server].meter.measure(REQUESTS, run)).serverMicros;
    };

    const figures: string[] = [];
    const ratios: number[] = [];
    for (const [name, call] of Object.entries(calls)) {
      const micros = { without: [] as number[], with: [] as number[] };
      for (let round = 0; round <= ROUNDS; round++) {
        for (const server of ['without', 'with'] as const) {
          const cost = await measure(server, call);
          // The first round compiles.
          if (round > 0) micros[server].push(cost);
        }
      }
      const ratio = medianOf(micros.with.map((cost, round) => cost / (micros.without[round] ?? 0)));
      ratios.push(ratio);
      figures.push(
        `${name} ${medianOf(micros.without).toFixed(0)} us to ${medianOf(micros.with).toFixed(0)}, ${ratio.toFixed(2)}x`,
      );
    }
    const resident = servers.with.usher.residentBytes();
    figures.push(`${(servers.without.usher.residentBytes() / MB).toFixed(0)} MB to ${(resident / MB).toFixed(0)}`);
    report(context, {
      tried: `${ROUNDS} rounds of ${REQUESTS} calls in 512 MiB with ${CONTAINER_NODE_OPTIONS}`,
      figures: figures.join('; '),
    });
    for (const ratio of ratios) expect(ratio, figures.join('; ')).toBeLessThan(MAX_RATIO);
    expect(resident).toBeLessThan(MAX_RESIDENT_BYTES);
  },
  600_000,
);
