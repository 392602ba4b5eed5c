/** Sessions that an exchange inserts while something ends what the user has. */
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { HOUR } from '../../support/clock.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  createTestWebhook,
  logIn,
  startTestService,
  type Tenant,
} from '../../support/service.ts';

const service = await startTestService({ config: { requestTimeoutMs: 60_000 } });
afterAll(() => service.close());
const { sql } = service.database;
const admin = adminClient(service);

/** Citus takes no such triggers. */
const hasGates = inject('workerUrls').length === 0;
// Inserts into a table wait at its gate, half-way through their statement.
if (hasGates)
  await sql.unsafe(`
  create table gates (table_name text);
  create function wait_at_gate() returns trigger language plpgsql as $$
    begin while exists (select from gates where table_name = tg_table_name) loop perform pg_sleep(0.01); end loop; return new; end $$;
  create trigger gate before insert on sessions for each row execute function wait_at_gate();
  create trigger gate before insert on session_cutoffs for each row execute function wait_at_gate();
  create trigger gate before insert on user_cutoffs for each row execute function wait_at_gate()`);

const ENDINGS: Record<string, (tenant: Tenant, userId: string) => Promise<unknown>> = {
  RevokeUserSessions: (tenant, userId) => clientsOf(service, tenant).sessions.revokeUserSessions({ userId }),
  RemoveApplicationUser: ({ id: applicationId }, userId) => admin.removeApplicationUser({ applicationId, userId }),
  DeactivateUser: (_, userId) => admin.deactivateUser({ userId }),
  'DeactivateUser and ReactivateUser': async (_, userId) => {
    await admin.deactivateUser({ userId });
    await admin.reactivateUser({ userId });
  },
  DeleteUser: (_, userId) => admin.deleteUser({ userId }),
  EraseUser: (_, userId) => admin.eraseUser({ userId }),
};

test.runIf(hasGates).each(Object.keys(ENDINGS))(
  'what is inserted after %s is told to end, and the token is refused',
  async (name) => {
    const { tenant, user, authToken } = await prepare();
    const exchange = await halt('sessions', () => clientsOf(service, tenant).auth.exchangeToken({ authToken }));
    await ENDINGS[name]?.(tenant, user.id);
    await Promise.all([openGates(), expect(exchange.ended).rejects.toThrow(/Invalid or expired token|User not found/)]);
    await expectEnded(tenant, user.id);
    expect(await sql`select from application_users where user_id = ${user.id}`).toEqual([]);
  },
);

test.runIf(hasGates).each(Object.keys(ENDINGS))('what is inserted before %s commits is told to end', async (name) => {
  const { tenant, user, authToken } = await prepare();
  const table = /RevokeUserSessions|RemoveApplicationUser/.test(name) ? 'session_cutoffs' : 'user_cutoffs';
  const ending = await halt(table, () => ENDINGS[name]?.(tenant, user.id));
  const { session } = await clientsOf(service, tenant).auth.exchangeToken({ authToken });
  await Promise.all([openGates(), ending.ended]);
  await expectEnded(tenant, user.id);
  const { active } = await clientsOf(service, tenant).sessions.checkSession({ sessionId: session?.id ?? '' });
  expect(active).toBe(false);
  const stays = /RevokeUserSessions|DeactivateUser|DeleteUser/.test(name);
  expect(await sql`select from application_users where user_id = ${user.id}`).toHaveLength(stays ? 1 : 0);
});

test('sessions that are found late are deleted and told to end', async () => {
  const { tenant, user, authToken } = await prepare();
  await clientsOf(service, tenant).auth.exchangeToken({ authToken });
  const [session] = await sql`select * from sessions where user_id = ${user.id}`;
  await admin.deactivateUser({ userId: user.id });
  // No cut-off ends it, but its user cannot sign in.
  const late = { ...session, authenticated_at: new Date(Date.now() + HOUR), cutoff_at: null };
  for (const name of ['RevokeUserSessions', 'DeactivateUser']) {
    await sql`insert into sessions ${sql(late)}`;
    await ENDINGS[name]?.(tenant, user.id);
    expect(await sql`select from sessions where user_id = ${user.id}`, name).toEqual([]);
  }
  expect(await readTold(tenant)).toEqual(['session.created', ...Array(3).fill('session.revoked')]);
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
