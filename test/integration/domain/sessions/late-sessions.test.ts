/** Sessions that an exchange inserts while something ends what the user has. */
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import type { ApplicationCall } from '../../../../src/domain/core/call.ts';
import { deactivateUser } from '../../../../src/domain/lifecycle/end-user.ts';
import { removeApplicationUser } from '../../../../src/domain/lifecycle/remove-application-user.ts';
import { revokeSession } from '../../../../src/domain/sessions/revoke-session.ts';
import { revokeUserSessions } from '../../../../src/domain/sessions/revoke-user-sessions.ts';
import { HOUR } from '../../../support/clock.ts';
import { LAYOUT } from '../../../support/database.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  createTestWebhook,
  logIn,
  startTestService,
  type Tenant,
} from '../../../support/service.ts';
import { sessionEndingsOf } from '../../../support/session-endings.ts';

// No statement waits on the connection of one that is halted.
const service = await startTestService({ config: { databaseConnections: 8 } });
afterAll(() => service.close());
const { sql } = service.database;
const admin = adminClient(service);

/** Citus takes no such triggers. */
const hasGates = LAYOUT === 'whole';
// Inserts into a table wait at its gate, half-way through their statement.
if (hasGates)
  await sql.unsafe(`
  create table gates (table_name text);
  create function wait_at_gate() returns trigger language plpgsql as $$
    begin while exists (select from gates where table_name = tg_table_name) loop perform pg_sleep(0.01); end loop; return new; end $$;
  create trigger gate before insert on sessions for each row execute function wait_at_gate();
  create trigger gate before insert on session_cutoffs for each row execute function wait_at_gate();
  create trigger gate before insert on user_cutoffs for each row execute function wait_at_gate()`);

const SESSION_ENDINGS = sessionEndingsOf(service);
const ENDINGS: typeof SESSION_ENDINGS = {
  ...SESSION_ENDINGS,
  'DeactivateUser and ReactivateUser': async ({ user: { id: userId } }) => {
    await admin.deactivateUser({ userId });
    await admin.reactivateUser({ userId });
  },
};

test.runIf(hasGates).each(Object.keys(ENDINGS))(
  'webhooks learn of what is inserted after %s, and the token is refused',
  async (name) => {
    const { tenant, user, authToken } = await prepare();
    const exchange = await halt('sessions', () => clientsOf(service, tenant).auth.exchangeToken({ authToken }));
    await ENDINGS[name]?.({ tenant, user });
    await Promise.all([openGates(), expect(exchange.ended).rejects.toThrow(/Invalid or expired token|User not found/)]);
    await expectEnded(tenant, user.id);
    expect(await sql`select from application_users where user_id = ${user.id}`).toEqual([]);
  },
);

test.runIf(hasGates).each(Object.keys(ENDINGS))('webhooks learn of what comes before %s commits', async (name) => {
  const { tenant, user, authToken } = await prepare();
  const table = /RevokeUserSessions|RemoveApplicationUser/.test(name) ? 'session_cutoffs' : 'user_cutoffs';
  const ending = await halt(table, () => ENDINGS[name]?.({ tenant, user }));
  const { session } = await clientsOf(service, tenant).auth.exchangeToken({ authToken });
  await Promise.all([openGates(), ending.ended]);
  await expectEnded(tenant, user.id);
  const { active } = await clientsOf(service, tenant).sessions.checkSession({ sessionId: session?.id ?? '' });
  expect(active).toBe(false);
  const stays = /RevokeUserSessions|EndUserSessions|DeactivateUser|DeleteUser/.test(name);
  expect(await sql`select from application_users where user_id = ${user.id}`).toHaveLength(stays ? 1 : 0);
});

test('sessions that are found late are deleted, and webhooks learn of it', async () => {
  const { tenant, user, authToken } = await prepare();
  await clientsOf(service, tenant).auth.exchangeToken({ authToken });
  const [session] = await sql`select * from sessions where user_id = ${user.id}`;
  await admin.deactivateUser({ userId: user.id });
  // No cut-off ends it, but its user cannot sign in.
  const late = { ...session, authenticated_at: new Date(Date.now() + HOUR), cutoff_at: null };
  for (const name of ['RevokeUserSessions', 'DeactivateUser']) {
    await sql`insert into sessions ${sql(late)}`;
    await ENDINGS[name]?.({ tenant, user });
    expect(await sql`select from sessions where user_id = ${user.id}`, name).toEqual([]);
  }
  expect(await readTold(tenant)).toEqual(['session.created', ...Array(3).fill('session.revoked')]);
});

describe('what a revocation inserts is announced before it looks for late sessions', () => {
  const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
  afterAll(() => database.close());

  const verbs: Record<string, (call: ApplicationCall, userId: string, sessionId: string) => Promise<unknown>> = {
    revokeSession: (call, _, sessionId) => revokeSession(call, service.config, { sessionId }),
    revokeUserSessions: (call, userId) => revokeUserSessions(call, { userId }),
    removeApplicationUser: (call, userId) =>
      removeApplicationUser(call, { applicationId: call.application.id, userId }),
    deactivateUser: (call, userId) => deactivateUser(call, { userId }),
  };

  test.each(Object.entries(verbs))('by %s', async (_, verb) => {
    const { tenant, user, authToken } = await prepare();
    const { session } = await clientsOf(service, tenant).auth.exchangeToken({ authToken });
    const [now, announced] = [new Date(), new Set<string>()];
    const run = withAudit(database.within(performance.now() + 60_000), { ...BY_USHER, action: 'test', now });
    const call: ApplicationCall = {
      run: (statement, parameters) =>
        /Late/.test(statement.name) ? Promise.reject(new Error('no time left')) : run(statement, parameters),
      now,
      onMessage: (applicationId) => announced.add(applicationId),
      application: { ...tenant, name: '', redirectUris: [] },
    };
    await expect(verb(call, user.id, session?.id ?? '')).rejects.toThrow('no time left');
    expect(announced).toEqual(new Set([tenant.id]));
  });
});

async function prepare() {
  const tenant = await createTenant(service);
  const { webhookId } = await createTestWebhook(service, tenant);
  await clientsOf(service, tenant).webhooks.updateWebhook({ webhookId, eventTypes: ['*'] });
  const user = await createTestUser(service, { applicationIds: [tenant.id] });
  return { tenant, user, authToken: await logIn(service, tenant, user) };
}

/** Calls, and resolves when the call has read and is about to insert into the table. */
async function halt<Answer>(table: string, call: () => Promise<Answer> | undefined) {
  onTestFinished(openGates);
  await sql`insert into gates values (${table})`;
  const ended = call();
  const halted = () => sql`
    select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  await expect.poll(halted).toHaveLength(1);
  return { ended };
}

async function openGates(): Promise<void> {
  await sql`delete from gates`;
}

async function expectEnded(tenant: Tenant, userId: string): Promise<void> {
  expect(await sql`select from sessions where user_id = ${userId}`).toEqual([]);
  expect((await readTold(tenant)).filter((type) => type === 'session.revoked')).toHaveLength(1);
}

async function readTold({ id }: Tenant): Promise<string[]> {
  const told = await sql`
    select type from webhook_messages where application_id = ${id} and type like 'session.%' order by id`;
  return told.map(({ type }) => type);
}
