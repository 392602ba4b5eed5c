/** Deliveries of webhooks while Postgres fails over to a synchronous standby. Needs the Postgres of Debian, or PG_BIN. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DebianPostgres, SKIPS_DEBIAN_POSTGRES } from '../support/debian-postgres.ts';
import { startLoad } from '../support/load.ts';
import { startUsher } from '../support/process.ts';
import { report } from '../support/soak.ts';
import { countUnsettled, createSubscribers, judgeWhenTold, makeChanges } from '../support/told-changes.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const APPLICATIONS = 8;
const CALLERS = 8;
/** Changes before, and again after the failover. */
const CHANGES = 200;
/** So many deliveries are under way when the primary fails. */
const ANSWER_MS = 50;

test.skipIf(SKIPS_DEBIAN_POSTGRES)(
  'a failover loses no message of an acknowledged change, and tells of no other',
  {
    timeout: 300_000,
  },
  async (context) => {
    await using stack = new AsyncDisposableStack();
    const primary = stack.use(await DebianPostgres.start());
    await primary.sql('postgres', (sql) => sql`create database usher`);
    const standby = stack.use(await primary.startStandby('twin'));
    await primary.sql('postgres', async (sql) => {
      await sql`alter system set synchronous_standby_names = 'twin'`;
      await sql`select pg_reload_conf()`;
    });
    const receiver = stack.use(await WebhookReceiver.open());
    receiver.respond = (_, response) => void sleep(ANSWER_MS).then(() => response.writeHead(204).end());
    const usher = stack.use(
      await startUsher(`postgres://usher@${primary.address},${standby.address}/usher`, {
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        WEBHOOK_TIMEOUT_MS: '5000',
      }),
    );
    const tenants = await createSubscribers(usher, receiver, APPLICATIONS);
    const acknowledged = new Set<string>();
    const change = makeChanges(tenants, () => usher.url, acknowledged);
    const load = startLoad({ change }, { callers: CALLERS, pauseMs: 5 });
    const waitForChanges = (count: number) =>
      expect.poll(() => acknowledged.size, { interval: 10 }).toBeGreaterThanOrEqual(count);

    await waitForChanges(CHANGES);
    await primary.down('immediate');
    await standby.promote();
    const mayComeAgain = await standby.sql('usher', (sql) => countUnsettled(sql, receiver));
    await waitForChanges(acknowledged.size + CHANGES);
    await load.stop();
    const verdict = await standby.sql('usher', (sql) => judgeWhenTold(sql, receiver, { acknowledged, mayComeAgain }));
    report(context, {
      tried: `deliveries during a failover, ${acknowledged.size} changes`,
      lost: verdict.summary,
      figures: verdict.figures,
    });
    expect(verdict).toMatchObject({ lost: [], untrue: [], twice: [], givenUp: 0 });
    expect(verdict.duplicates).toBeLessThanOrEqual(verdict.mayComeAgain);
  },
);
