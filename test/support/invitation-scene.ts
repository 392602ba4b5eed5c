/** Invitations to two applications, and what their statements read and write, for tests of each condition. */
import { randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import { Database } from '../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../src/domain/audit/audit-event.ts';
import type { ApplicationCall, Call } from '../../src/domain/core/call.ts';
import { deriveLoginCodeKeys } from '../../src/domain/login/login-code.ts';
import { LAYOUT } from './database.ts';
import { at, DAY, type Meanwhile, NOW, runWith } from './domain-scene.ts';
import { adminClient, createTenant, createTestGroup, startTestService, type Tenant } from './service.ts';

export { at, DAY, NOW };
export const [CREATED, LATER] = [at(-DAY), at(DAY)];
export const AUDIT = { ...BY_USHER, action: 'test', now: NOW };
export const newEmail = () => `${randomUUID()}@example.com`;

/** Opens a service until the tests of the file have ended. */
export async function openInvitations() {
  const service = await startTestService({ clock: () => NOW });
  const database = new Database(service.database.url, { connections: 4, layout: LAYOUT, statementTimeoutMs: 60_000 });
  afterAll(async () => {
    await database.close();
    await service.close();
  });
  const { sql } = service.database;
  const admin = adminClient(service);
  const keys = deriveLoginCodeKeys(service.config.secrets.encryptionKeys ?? []);

  function callAt(now = NOW, meanwhile: Meanwhile = {}): Call {
    const inner = withAudit(database.within(Number.POSITIVE_INFINITY), { ...AUDIT, now });
    return { run: runWith(meanwhile, inner), now, notices: { toLanguage: () => 'en', wake: () => {} } };
  }

  const callOf = ({ id, ...rest }: Tenant, call = callAt()): ApplicationCall => ({
    ...call,
    application: { ...rest, id, redirectUris: [] },
  });

  async function createInviter(fields: Parameters<typeof createTenant>[1] = {}): Promise<Tenant> {
    const created = await createTenant(service, fields);
    await admin.updateApplication({ applicationId: created.id, allowInvitations: true });
    return created;
  }

  const [here, elsewhere] = [await createInviter(), await createInviter()];

  /** Inserts a user who has nothing but an address. */
  async function createStranger(email = newEmail()): Promise<{ id: string; email: string }> {
    const id = randomUUID();
    await sql`insert into users (id, email, wallet_address, created_at) values (${id}, ${email}, '', ${CREATED})`;
    return { id, email };
  }

  /** Inserts an invitation, which is open if nothing else is said. */
  async function insertInvitation(userId: string, columns: object = {}): Promise<string> {
    const row = {
      ...{ id: randomUUID(), application_id: here.id, user_id: userId, email: newEmail() },
      ...{ created_user: false, added_user: false, created_at: CREATED, expires_at: LATER },
      ...columns,
    };
    await sql`insert into invitations ${sql(row as never)}`;
    return row.id;
  }

  const insertAdded = (userId: string, { id } = here) =>
    sql`insert into added_users values (${id}, ${userId}, ${CREATED})`;

  const insertEntry = (userId: string, firstSignedInAt = CREATED, { id } = here) => sql`
    insert into application_users (application_id, user_id, first_signed_in_at) values (${id}, ${userId}, ${firstSignedInAt})`;

  const invitationsOf = (userId: string, { id } = here) => sql`
    select * from invitations where user_id = ${userId} and application_id = ${id} order by created_at`;

  const isAdded = async (userId: string, { id } = here) =>
    (await sql`select from added_users where application_id = ${id} and user_id = ${userId}`).length === 1;

  const groups = (await Promise.all([1, 2, 3].map(() => createTestGroup(service)))).map(({ groupId }) => groupId);
  return {
    service,
    database,
    sql,
    admin,
    keys,
    callAt,
    callOf,
    createInviter,
    here,
    elsewhere,
    createStranger,
    insertInvitation,
    insertAdded,
    insertEntry,
    invitationsOf,
    isAdded,
    /** The IDs of three groups. */
    groups,
  };
}
