/** Losing the access to a restricted application while coming in, on two replicas. */
import { expect, test } from 'vitest';
import { AccessRaces } from '../support/access-races.ts';
import { adminClient, clientsOf, createTenant, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

test('nobody is inside after the loss of the access, by whichever door they came', {
  timeout: 5_400_000,
}, async (context) => {
  await using races = await AccessRaces.open();
  // Each of the four ways to lose it.
  const rounds = quickOrLong(8, 300);
  await races.race(rounds);
  const counts = Object.entries(races.counts);
  report(context, {
    tried: `${rounds} losses of access against ${counts.length} doors`,
    lost: '0 inside',
    figures: counts.map(([door, { entered, shut }]) => `${door} ${entered} in, ${shut} shut`).join('; '),
  });
  expect(counts.filter(([, { entered }]) => entered === 0)).toEqual([]);
});

test('an application that becomes restricted signs out everybody who may not enter, and nobody else', {
  timeout: 600_000,
}, async (context) => {
  await using service = await startTestService();
  const { sql } = service.database;
  const tenant = await createTenant(service);
  const count = quickOrLong(1_200, 60_000);
  await sql`
    with people as (
      insert into users (id, email, wallet_address, created_at)
      select gen_random_uuid(), n || '@example.com', '', now() from generate_series(1, ${count}) n returning id, email
    ), joined as (
      insert into application_users (application_id, user_id, first_signed_in_at)
      select ${tenant.id}, id, now() from people
    )
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
      authenticated_at, began_at, created_at, expires_at)
    select ${tenant.id}, id, gen_random_uuid(), email, '', '', '', 'email', now(), now(), now(), now() + interval '15 min'
    from people`;
  const sessionsOf = async () => sql<{ id: string; userId: string }[]>`
    select id, user_id as "userId" from sessions where application_id = ${tenant.id}`;
  const [kept] = await sessionsOf();
  await adminClient(service).addApplicationUser({ applicationId: tenant.id, userId: kept?.userId ?? '' });
  const beganAt = performance.now();
  await adminClient(service).updateApplication({ applicationId: tenant.id, restrictAccess: true });
  const ms = Math.round(performance.now() - beganAt);
  if (quickOrLong(false, true)) expect(ms).toBeLessThan(5_000);
  const { sessions } = clientsOf(service, tenant);
  expect((await sessions.listSessions({})).sessions).toMatchObject([{ userId: kept?.userId }]);
  // The call answers, and a job does the rest.
  await expect.poll(sessionsOf, { timeout: 300_000, interval: 100 }).toEqual([kept]);
  const endMs = Math.round(performance.now() - beganAt);
  report(context, {
    tried: `an application with ${count} sessions becomes restricted`,
    figures: `answered after ${ms} ms, ended after ${endMs} ms`,
  });
});
