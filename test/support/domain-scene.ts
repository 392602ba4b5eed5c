/** Rows and calls for tests of the domain, which need no server. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import { Database } from '../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../src/domain/audit/audit-event.ts';
import type { Application, Call, TransactionalCall } from '../../src/domain/core/call.ts';
import { cloneDatabase, LAYOUT } from './database.ts';

export const NOW = new Date();
/** Returns the instant so many milliseconds after `NOW`. */
export const at = (ms: number) => new Date(NOW.getTime() + ms);
export const [HOUR, DAY] = [3_600_000, 86_400_000];

export const reasonOf = (error: { readonly reason?: string }) => error.reason;

/** Returns why the work was refused, or `done`. */
export const reason = (work: Promise<unknown>) => work.then(() => 'done', reasonOf);

/** What happens after the statement of a name. */
export type Meanwhile = Readonly<Record<string, () => PromiseLike<unknown> | undefined>>;

/** Returns what runs a statement, and then waits for what happens after it. */
export function runWith(meanwhile: Meanwhile, run: Call['run']): Call['run'] {
  return async (statement, parameters) => {
    const rows = await run(statement, parameters);
    await meanwhile[statement.name]?.();
    return rows;
  };
}

type Columns = Readonly<Record<string, unknown>>;

/** The columns of a row, where a test does not say otherwise. */
const DEFAULTS = {
  applications: () => {
    const id = randomUUID();
    const names = { id, name: `Application ${id}`, client_id: `client-${id}`, redirect_uris: ['https://app.test/'] };
    return { ...names, created_at: at(-DAY) };
  },
  api_keys: () => ({ id: randomUUID(), digest: randomBytes(32), created_at: at(-DAY) }),
  users: () => ({ id: randomUUID(), email: `${randomUUID()}@example.com`, wallet_address: '', created_at: at(-DAY) }),
  sessions: () => ({
    ...{ id: randomUUID(), email: 'ada@example.com', wallet_address: '', ip_address: '::1', user_agent: 'Browser' },
    ...{
      method: 'page',
      authenticated_at: at(-HOUR),
      began_at: at(-HOUR),
      created_at: at(-HOUR),
      expires_at: at(HOUR),
    },
  }),
  session_ids: () => ({
    ...{ id: randomUUID(), authenticated_at: at(-HOUR), created_at: at(-HOUR) },
    ...{ expires_at: at(HOUR), kept_until: at(HOUR) },
  }),
  oidc_grants: () => ({
    ...{ id: randomUUID(), sid: randomUUID(), scope: 1, method: 'page', ip_address: '::1', user_agent: 'Browser' },
    ...{ authenticated_at: at(-HOUR), rotation: 0, created_at: at(-HOUR), expires_at: at(DAY) },
  }),
  consents: () => ({ client_id: 'https://client.test', client_name: 'Client', scope_names: [], created_at: at(-HOUR) }),
  remembered_sign_ins: () => ({
    ...{ token_digest: randomBytes(32), browser_digest: randomBytes(32), method: 'email_code' },
    ...{ authenticated_at: at(-HOUR), expires_at: at(DAY) },
  }),
  webhook_queues: () => ({}),
  webhook_deliveries: () => ({ created_at: at(-HOUR) }),
  webhook_signing_keys: () => ({ id: randomUUID(), signing_key: Buffer.alloc(0), expires_at: at(HOUR) }),
  webhooks: () => ({
    ...{ id: randomUUID(), url: 'https://hooks.test', signing_key: Buffer.alloc(0), event_types: ['*'] },
    ...{ created_at: at(-DAY), updated_at: at(-DAY) },
  }),
  passkeys: () => ({
    ...{ id: randomUUID(), credential_id: randomBytes(16), rp_id: 'usher.test', public_key: Buffer.alloc(0) },
    ...{ sign_count: 0, transports: [], aaguid: randomUUID(), is_backup_eligible: true, is_backed_up: true },
    ...{ is_user_verified: true, name: 'Phone', created_at: at(-DAY) },
  }),
  totp_secrets: () => ({ id: randomUUID(), sealed: randomBytes(40), last_step: 0, created_at: at(-DAY) }),
  recovery_codes: () => ({ digest: randomBytes(32), created_at: at(-DAY) }),
  user_identities: () => ({
    issuer: 'https://issuer.test',
    subject: randomUUID(),
    provider: 'test',
    created_at: at(-DAY),
  }),
  proved_identities: () => ({
    ...{ id: randomUUID(), provider: 'test', issuer: 'https://issuer.test', subject: randomUUID(), email: '' },
    ...{ created_at: at(-HOUR), expires_at: at(HOUR) },
  }),
  held_sign_ins: () => ({
    ...{ login_intent_id: randomUUID(), method: 'email', browser_digest: randomBytes(32) },
    ...{ proved_at: at(-HOUR), expires_at: at(HOUR) },
  }),
  login_intents: () => ({
    ...{ id: randomUUID(), redirect_uri: 'https://app.test/', state: 'state' },
    ...{ created_at: at(-HOUR), expires_at: at(HOUR) },
  }),
  login_codes: () => ({
    ...{ login_intent_id: randomUUID(), id: randomUUID(), email: '', browser_digest: randomBytes(32) },
    ...{ code_digest: randomBytes(32), created_at: at(-HOUR), expires_at: at(HOUR) },
  }),
  wallet_challenges: () => ({
    ...{ login_intent_id: randomUUID(), id: randomUUID(), browser_digest: randomBytes(32), message: '' },
    ...{ created_at: at(-HOUR), expires_at: at(HOUR) },
  }),
  groups: () => ({ id: randomUUID(), name: randomUUID(), created_at: at(-DAY) }),
  group_members: () => ({ added_at: at(-DAY) }),
  application_groups: () => ({ allows_access: true, in_claim: false }),
  added_users: () => ({ added_at: at(-DAY) }),
  invitations: () => ({
    ...{ id: randomUUID(), email: 'ada@example.com', created_user: false, added_user: false },
    ...{ created_at: at(-DAY), expires_at: at(DAY) },
  }),
  events: () => ({ id: randomUUID(), created_at: at(-DAY) }),
  attendees: () => ({ label: '', is_blocked: false, version: 1, changed_at: at(-HOUR) }),
  check_ins: () => ({ checked_in_at: at(-HOUR) }),
  scans: () => ({ scan_id: randomUUID(), attendee_id: 'ada', outcome: 'REFUSED', received_at: at(-HOUR) }),
  hourly_counts: () => ({}),
  session_cutoffs: () => ({ cutoff_at: at(-HOUR), expires_at: at(DAY) }),
  user_cutoffs: () => ({ cutoff_at: at(-HOUR), expires_at: at(DAY) }),
  application_users: () => ({ first_signed_in_at: at(-DAY), last_signed_in_at: at(-DAY) }),
} satisfies Readonly<Record<string, () => Columns>>;

type Table = keyof typeof DEFAULTS;

/** Opens an empty database until the tests of the file have ended. */
export async function openDomain() {
  const clone = await cloneDatabase();
  const openAs = (layout: Database['layout']) =>
    new Database(clone.url, { connections: 4, layout, statementTimeoutMs: 60_000 });
  const databases = { whole: openAs('whole'), distributed: openAs('distributed') };
  const database = databases[LAYOUT];
  afterAll(async () => {
    await Promise.all(Object.values(databases).map((each) => each.close()));
    await clone[Symbol.asyncDispose]();
  });
  const { sql } = clone;

  const insert = async <Name extends Table, Given extends Columns>(table: Name, given: Given) => {
    const row = { ...(DEFAULTS[table]() as ReturnType<(typeof DEFAULTS)[Name]>), ...given };
    await sql`insert into ${sql(table as string)} ${sql(row as never)}`;
    return row;
  };

  /** The applications that a call has told of messages. */
  const told: string[] = [];
  /**
   * Returns a call at an instant by that clock.
   *
   * @param meanwhile runs once, after the first statement
   * @param layout those forms of statements for distributed tables run on any server
   */
  const callAt = (now = NOW, meanwhile?: () => PromiseLike<unknown>, layout: Database['layout'] = LAYOUT): Call => {
    const inner = withAudit(databases[layout].within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
    let waiting = meanwhile;
    const run: Call['run'] = async (statement, parameters) => {
      const rows = await inner(statement, parameters);
      const next = waiting;
      waiting = undefined;
      await next?.();
      return rows;
    };
    return { run, now, onMessage: (applicationId) => void told.push(applicationId) };
  };
  /** Returns a call that names the statements it has run. After that of a name, it waits for `meanwhile`. */
  function watch(meanwhile: Meanwhile = {}, call = callAt()) {
    const names: string[] = [];
    const run: Call['run'] = async (statement, parameters) => {
      const rows = await call.run(statement, parameters);
      names.push(statement.name);
      return rows;
    };
    return { ...call, run: runWith(meanwhile, run), names };
  }
  const callOf = (id: string, settings: Partial<Application> = {}, call = callAt()): TransactionalCall => ({
    ...call,
    application: { id, name: '', clientId: '', redirectUris: [], ...settings },
    transact: (work, lock) =>
      database.transact({ applicationId: id, deadline: performance.now() + 60_000, lock }, (run) =>
        work(withAudit(run, { ...BY_USHER, action: 'test', now: call.now })),
      ),
  });
  return {
    ...{ sql, insert, callAt, watch, callOf, database, clone },
    /** Returns the applications that were told of messages since the last look. */
    readTold: () => told.splice(0),
    createUser: async (given: Columns = {}) => (await insert('users', given)).id,
    createApplication: async (given: Columns = {}) => (await insert('applications', given)).id,
  };
}
