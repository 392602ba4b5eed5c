/** What begins when a code is redeemed: a grant, and a session unless there is one. */
import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { sidOf } from '../../../../src/domain/sessions/sid.ts';
import { SECOND, TestClock } from '../../../support/clock.ts';
import { LAYOUT } from '../../../support/database.ts';
import { request } from '../../../support/http.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { createOidcTenant, redeem, refresh, signInForCode } from '../../../support/oidc-client.ts';
import {
  adminClient,
  clientsOf,
  createTestUser,
  createTestWebhook,
  startTestService,
  type Tenant,
} from '../../../support/service.ts';

const clock = new TestClock(new Date());
const service = await startTestService({
  clock: clock.read,
  oidcSigningKeys: [createRsaJwk()],
  // No statement waits on the connection of one that is halted.
  config: { databaseConnections: 8 },
});
afterAll(() => service.close());
const { sql } = service.database;
const admin = adminClient(service);
const INVALID_GRANT = { status: 400, body: { error: 'invalid_grant' } };
/** Citus takes no such triggers, and redeems in several statements. */
const isOnOneServer = LAYOUT === 'whole';

test('the first code begins a session, a later one makes it one of the later sign-in, and each begins a grant', async () => {
  const tenant = await createOidcTenant(service);
  const user = await createTestUser(service);
  const browser = 'a browser';
  for (const grants of [1, 2]) {
    clock.advance(10 * SECOND);
    const code = await signInForCode(service, tenant, user, { browser });
    const { status, body } = await redeem(service, tenant, code);
    expect(status).toBe(200);
    // The account page finds the browser by it.
    expect(decodeJwt(body.id_token ?? '').sid).toBe(sidOf(tenant.id, user.id, hash('sha256', browser, 'buffer')));
    const sessions = await sql`
      select greatest(authenticated_at, last_authenticated_at) as signed_in_at from sessions where user_id = ${user.id}`;
    expect(sessions).toEqual([{ signed_in_at: clock.read() }]);
    expect(await sql`select from oidc_grants where user_id = ${user.id}`).toHaveLength(grants);
    expect(await refresh(service, tenant, body.refresh_token)).toMatchObject({ status: 200 });
    const changes = await sql`
      select from audit_events where resource = ${user.id} and action = 'POST /oidc/token'
        and occurred_at = ${clock.read()}`;
    // That of the redemption, and that of the later sign-in. Each statement that changes rows has its own.
    if (isOnOneServer) expect(changes).toHaveLength(grants);
    else expect(changes.length).toBeGreaterThanOrEqual(grants);
  }
});

test('a webhook learns of the session that a code begins', async () => {
  const tenant = await createOidcTenant(service);
  const { webhookId } = await createTestWebhook(service, tenant);
  await clientsOf(service, tenant).webhooks.updateWebhook({ webhookId, eventTypes: ['session.created'] });
  // Usher does not know of the webhook when the first code is redeemed.
  for (const sessions of [1, 2, 3]) {
    const user = await createTestUser(service);
    const code = await signInForCode(service, tenant, user);
    expect(await redeem(service, tenant, code)).toMatchObject({ status: 200 });
    expect(await redeem(service, tenant, code)).toMatchObject(INVALID_GRANT);
    const messages = await sql`select from webhook_messages where application_id = ${tenant.id}`;
    expect(messages).toHaveLength(sessions);
    expect(await sql`select from oidc_grants where user_id = ${user.id}`).toHaveLength(1);
  }
});

test.runIf(isOnOneServer).each(['RevokeUserSessions', 'DeactivateUser'])(
  'a code that is being redeemed during %s gives no tokens, and is used up',
  async (name) => {
    const tenant = await createOidcTenant(service);
    const user = await createTestUser(service);
    const code = await signInForCode(service, tenant, user);
    const openGate = await closeGate('sessions');
    const redemption = redeem(service, tenant, code);
    await expect.poll(halted).toHaveLength(1);
    await end(name, tenant, user);
    await openGate();
    expect(await redemption).toMatchObject(INVALID_GRANT);
    expect(await redeem(service, tenant, code)).toMatchObject(INVALID_GRANT);
    expect(await sql`select from sessions where user_id = ${user.id}`).toEqual([]);
    const intents = await sql`select redeemed_at is not null as is_used from login_intents where user_id = ${user.id}`;
    expect(intents).toEqual([{ is_used: true }]);
  },
);

test.runIf(isOnOneServer)(
  'a code that is being redeemed while its browser logs out gives no tokens, and begins no grant',
  async () => {
    const tenant = await createOidcTenant(service);
    const user = await createTestUser(service);
    const browser = 'a browser';
    const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user, { browser }));
    const code = await signInForCode(service, tenant, user, { browser });
    const openGate = await closeGate('oidc_grants');
    const redemption = redeem(service, tenant, code);
    await expect.poll(halted).toHaveLength(1);
    const loggedOut = await request(service.url, { path: `/oidc/logout?id_token_hint=${body.id_token}` });
    expect(loggedOut.status).toBe(200);
    await openGate();
    expect(await redemption).toMatchObject(INVALID_GRANT);
    const { grants } = await clientsOf(service, tenant).sessions.listGrants({ userId: user.id });
    expect(grants).toEqual([]);
  },
);

test.runIf(isOnOneServer)('a later code that is being redeemed during EraseUser leaves no grant', async () => {
  const tenant = await createOidcTenant(service);
  const user = await createTestUser(service);
  await redeem(service, tenant, await signInForCode(service, tenant, user));
  clock.advance(10 * SECOND);
  const code = await signInForCode(service, tenant, user);
  const openGate = await closeGate('oidc_grants');
  const redemption = redeem(service, tenant, code);
  await expect.poll(halted).toHaveLength(1);
  await admin.eraseUser({ userId: user.id });
  await openGate();
  // The session of the first code is gone, so the statement runs again, and finds no user.
  expect(await redemption).toMatchObject(INVALID_GRANT);
  expect(await sql`select from oidc_grants where user_id = ${user.id}`).toEqual([]);
});

const halted = () => sql`
  select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;

async function end(name: string, tenant: Tenant, { id: userId }: { id: string }): Promise<void> {
  if (name === 'DeactivateUser') await admin.deactivateUser({ userId });
  else await clientsOf(service, tenant).sessions.revokeUserSessions({ userId });
}

/** Lets statements wait when they have read and are about to insert. Returns what lets them continue. */
async function closeGate(table: 'sessions' | 'oidc_grants'): Promise<() => Promise<void>> {
  await sql.unsafe(`
    create table gate (is_closed boolean);
    insert into gate values (true);
    create function wait_at_gate() returns trigger language plpgsql as $$
      begin while exists (select from gate) loop perform pg_sleep(0.01); end loop; return new; end $$;
    create trigger gate before insert on ${table} for each row execute function wait_at_gate()`);
  const open = async () => void (await sql`delete from gate`);
  onTestFinished(async () => {
    await open();
    await sql.unsafe(`drop trigger gate on ${table}; drop function wait_at_gate(); drop table gate`);
  });
  return open;
}
