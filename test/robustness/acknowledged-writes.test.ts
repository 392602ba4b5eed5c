import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { startLoad } from '../support/load.ts';
import { createSubjects, MixedCalls } from '../support/mixed-calls.ts';
import { startUsher } from '../support/process.ts';
import { createTenant } from '../support/service.ts';
import { runSmokeTest } from '../support/smoke-test.ts';
import { quickOrLong, report } from '../support/soak.ts';

const KILLS = quickOrLong(1, 20);
const CALLERS = 300;

test('kill -9 of the service with hundreds of calls in flight loses no acknowledged write, and leaves none partial', {
  timeout: 600_000,
}, async (context) => {
  await using database = await cloneDatabase();
  const missing: string[] = [];
  let inFlight = 0;
  let acknowledged = 0;
  for (let round = 0; round < KILLS; round++) {
    await using usher = await startUsher(database.url);
    using calls = new MixedCalls(usher, await createSubjects(usher));
    const createApplication = () => createTenant(usher).then(() => 'ok');
    const load = startLoad({ ...calls.over('gRPC'), createApplication }, { callers: CALLERS });
    // Each round kills at another moment.
    await sleep(200 + 30 * round);
    await expect.poll(() => calls.hasWritten, { interval: 5, timeout: 100_000 }).toBe(true);
    inFlight += load.waits().length;
    expect(await usher.end('SIGKILL')).toBeNull();
    await load.stop();
    const { writes, lost } = await calls.findLost(database.sql);
    acknowledged += writes;
    missing.push(...lost);
  }
  report(context, {
    tried: `${KILLS} times kill -9 with ${Math.round(inFlight / KILLS)} calls in flight`,
    lost: `${missing.length} of ${acknowledged} acknowledged writes`,
  });
  expect(missing).toEqual([]);
  // Every row has all that was written with it.
  const [partial] = await database.sql`
    select
      (select count(*)::int from applications a
        where a.client_id not in ('usher-account', 'usher-console')
          and not exists (select from api_keys k where k.application_id = a.id)
      ) as applications,
      (select count(*)::int from webhooks where length(signing_key) < 32) as webhooks,
      (select count(*)::int from sessions s left join users u on u.id = s.user_id
        where s.email is distinct from u.email or s.expires_at <> s.created_at + interval '15 minutes') as sessions`;
  expect(partial).toEqual({ applications: 0, webhooks: 0, sessions: 0 });
  // The killed processes have left no locks.
  await using usher = await startUsher(database.url);
  await runSmokeTest(usher);
});
