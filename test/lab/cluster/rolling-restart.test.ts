/** Three instances behind HAProxy, which repeats no call, are restarted one after the other: no call fails. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { create } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { GetWebhookRequestSchema, WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { cloneDatabase } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { findFreePort } from '../../support/free-port.ts';
import { GrpcClient } from '../../support/grpc-client.ts';
import { HttpPool } from '../../support/http.ts';
import { startOpenLoopLoad } from '../../support/load.ts';
import { createSubjects } from '../../support/mixed-calls.ts';
import { startUsher, type UsherProcess } from '../../support/process.ts';
import { quickOrLong, report } from '../../support/soak.ts';
import { HAPROXY_PATH, lacks } from '../../support/tools.ts';

const CONFIG = fileURLToPath(new URL('../../examples/haproxy/haproxy.cfg', import.meta.url));
const INSTANCES = 3;
const ROUNDS = quickOrLong(1, 3);
/** Calls per second over each protocol. */
const RATE = quickOrLong(50, 100);
const ENV = {
  // Several health checks.
  SHUTDOWN_DELAY_MS: '3000',
  // On a busy machine no call counts as slow, and so none is refused for that.
  REQUEST_TIMEOUT_MS: '30000',
};

test.skipIf(lacks('HAPROXY'))(
  'a rolling restart behind HAProxy fails no call over REST and gRPC',
  { timeout: ROUNDS * 300_000 },
  async (context) => {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await cloneDatabase());
    const start = async (port: number) => stack.use(await startUsher(database.url, { ...ENV, PORT: String(port) }));
    const instances = await Promise.all(Array.from({ length: INSTANCES }, async () => start(await findFreePort())));
    const proxy = stack.use(await startHaproxy(instances));
    const { tenant, webhookId } = await createSubjects({ url: proxy.url });

    const pool = stack.use(new HttpPool(proxy, { 'x-api-key': tenant.apiKey }));
    const grpc = stack.use(new GrpcClient(proxy));
    const getOverRest = async () => String((await pool.call('GET', `/api/webhooks/${webhookId}`)).status);
    const getOverGrpc = async () => {
      const message = create(GetWebhookRequestSchema, { webhookId });
      const headers = { 'x-api-key': tenant.apiKey };
      const { code, details } = await grpc.unary(WebhookService.method.getWebhook, message, { headers });
      return `${code} ${details}`;
    };
    const loads = [startOpenLoopLoad(getOverRest, RATE), startOpenLoopLoad(getOverGrpc, RATE)];
    const exitCodes: (number | null)[] = [];
    for (let at = 0; at < ROUNDS * INSTANCES; at++) {
      const old = instances[at % INSTANCES];
      if (!old) throw new Error('No instance');
      exitCodes.push(await old.end('SIGTERM'));
      instances[at % INSTANCES] = await start(old.port);
      await proxy.waitForServers();
    }
    const answers = (await Promise.all(loads.map((load) => load.stop()))).flat();

    const failed = answers.filter(({ outcome }) => outcome !== '200' && outcome !== 'OK ');
    report(context, {
      tried: `SIGTERM to each of ${INSTANCES} instances behind HAProxy, ${answers.length} calls`,
      lost: `${failed.length} calls`,
    });
    expect(failed.map(({ outcome }) => outcome)).toEqual([]);
    expect(exitCodes).toEqual(exitCodes.map(() => 0));
    expect(answers.length).toBeGreaterThan(2 * RATE * INSTANCES);
  },
);

async function startHaproxy(instances: readonly UsherProcess[]) {
  const directory = await createDirectory();
  const socket = join(directory, 'haproxy.sock');
  const port = await findFreePort();
  const servers = instances.map((instance, at) => [`USHER_${at + 1}`, `127.0.0.1:${instance.port}`]);
  const haproxy = spawn(HAPROXY_PATH, ['-db', '-q', '-f', CONFIG], {
    env: { ...Object.fromEntries(servers), HAPROXY_SOCKET: socket, HAPROXY_ADDRESS: `127.0.0.1:${port}` },
    stdio: 'ignore',
  });
  /** Resolves when both backends see all instances as ready. */
  const waitForServers = async () => {
    const countUp = async () => {
      const connection = connect(socket).on('error', () => {});
      connection.end('show stat\n');
      const rows = (await text(connection).catch(() => '')).split('\n');
      return rows.filter((row) => /,usher-\d,.*,UP,/.test(row)).length;
    };
    await expect.poll(countUp, { interval: 100 }).toBe(2 * instances.length);
  };
  await waitForServers();
  return {
    url: `http://127.0.0.1:${port}`,
    waitForServers,
    async [Symbol.asyncDispose]() {
      haproxy.kill();
      if (haproxy.exitCode === null) await once(haproxy, 'exit');
    },
  };
}
