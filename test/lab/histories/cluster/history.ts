/** Runs the workload at replicas while something goes wrong, and judges what has been recorded. */
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { expect, type TestContext } from 'vitest';
import { WebhookReceiver } from '../../../../src/testing/webhook-receiver.ts';
import { adminClient, beginSession, clientsOf, createTenant, createTestUser } from '../../../support/service.ts';
import { report } from '../../../support/soak.ts';
import type { AuditEvent } from '../checker/invariants/audit-log.ts';
import type { Message } from '../checker/invariants/deliveries.ts';
import type { LogoutToken } from '../checker/invariants/grants.ts';
import { findUntoldChanges, type History, judge } from '../checker/judge.ts';
import { answerOf, isRead, type Operation, type Violation } from '../checker/operation.ts';
import { readUndoNotice } from '../workload/addresses.ts';
import { Client } from '../workload/client.ts';
import { Recorder } from '../workload/recorder.ts';
import { startWorkload } from '../workload/workload.ts';
import { Readers } from './readers.ts';
import type { Replicas } from './replicas.ts';

/** How long each fault lasts. */
const SECONDS = Number(process.env.HISTORIES_SECONDS ?? 60);
/** A process that was killed holds its queue for as long as an attempt may take and twenty seconds. */
const DELIVERY_TIMEOUT_MS = 90_000;
/** Before and after the faults. */
const CALM_MS = Math.min(5_000, SECONDS * 100);
const SET_UP_TRIES = 20;
/** How long sessions can be renewed after their expiry. */
const IDLE_SECONDS = 3_600;
/** The permits for recovery links of the admin key. */
const RECOVERY_LINKS = hash('sha256', 'recovery links by admin', 'buffer');
/** How many violations a failure shows. */
const SHOWN = 5;

/** Runs statements on the primary of the moment. */
type OnPrimary = <Result>(use: (sql: postgres.Sql) => Promise<Result>) => Promise<Result>;

interface Ground {
  readonly replicas: Replicas;
  readonly onPrimary: OnPrimary;
  /** How far apart the clocks of the services are that answer from their memory. */
  readonly readerClocksApartMs?: number;
}

/** Makes something go wrong, once. It is done again until the time is over. */
export type Disturb = (round: number, readers: Readers) => Promise<void>;

/**
 * Records a history with the fault, reports its row of the table, and expects no violation. Returns how many checks of
 * services there were, how many from memory, and how many calls these have cost.
 */
export async function expectCorrectHistory(
  context: TestContext,
  fault: string,
  ground: Ground,
  disturb: Disturb,
): Promise<Readers['totals']> {
  const { history, others, totals } = await record(ground, disturb);
  const violations = [...others, ...judge(history)];
  const { operations } = history;
  const unknown = operations.filter(({ outcome }) => outcome === 'unknown').length;
  const gap = longestGapOf(operations);
  report(context, {
    tried: `${fault}: ${operations.length} calls`,
    lost: `${violations.length} violations${summarize(violations)}`,
    figures: `${unknown} indeterminate, gap ${(gap / 1_000).toFixed(1)} s, ${totals.checks} checks of services: ${totals.kept} from memory, ${totals.calls} calls`,
  });
  if (process.env.HISTORIES_DIRECTORY) {
    const file = join(process.env.HISTORIES_DIRECTORY, `${fault.replaceAll(/\W+/g, '-')}.json`);
    await writeFile(file, JSON.stringify({ ...history, violations, errors: ground.replicas.errors }, undefined, 1));
  }
  expect(violations.slice(0, SHOWN).map(({ rule, details }) => `${rule}\n${details}`)).toEqual([]);
  // Otherwise nothing was tried.
  expect(operations.length).toBeGreaterThan(SECONDS);
  expect(totals.kept).toBeGreaterThan(100 * SECONDS);
  return totals;
}

async function record({ replicas, onPrimary, readerClocksApartMs }: Ground, disturb: Disturb) {
  await using receiver = await WebhookReceiver.open();
  const { tenant, oidcApplication, ownerId, sessionId } = await setUp(replicas, receiver);
  using client = new Client(replicas.ports);
  client.apiKey = tenant.apiKey;
  const recorder = new Recorder(client);
  await using readers = await Readers.start({
    ports: replicas.ports,
    apiKey: tenant.apiKey,
    recorder,
    endless: { userId: ownerId, sessionId },
    clocksApartMs: readerClocksApartMs,
  });
  const stop = startWorkload({
    recorder,
    client,
    replicas: client.replicas,
    urls: replicas.ports.map((port) => `http://127.0.0.1:${port}`),
    applicationId: tenant.id,
    clientId: tenant.clientId,
    oidcApplication,
    provider: replicas.provider,
    mail: replicas.mail,
    ownerId,
    endpoint: `${receiver.url}/tested`,
    tellReaders: (begun) => readers.tell(begun),
    makeDue: (userId) => onPrimary((sql) => makeDue(sql, tenant.id, userId)),
    expire: (userId) => onPrimary((sql) => expire(sql, tenant.id, userId)),
    allowRecoveryLinks: () => onPrimary((sql) => sql`delete from rate_limits where key = ${RECOVERY_LINKS}`),
  });
  const endsAt = performance.now() + SECONDS * 1_000;
  try {
    await sleep(CALM_MS);
    for (let round = 0; performance.now() < endsAt - CALM_MS; round++) await disturb(round, readers);
    await sleep(Math.max(CALM_MS, endsAt - performance.now()));
  } finally {
    await stop();
    await readers.stop();
  }
  const pending = await onPrimary((sql) => waitForDeliveries(sql, [tenant.id, oidcApplication.id]));
  const notices = await waitForNotices(replicas, recorder.operations);
  const log = await onPrimary((sql) => readAuditLog(sql, recorder.prefix));
  const history: History = {
    operations: recorder.operations,
    log,
    messages: receiver.at('/all').map(({ id, json }): Message => ({ id, type: json.type, data: json.data })),
    signedMessages: receiver.at('/tested').map(({ json, headers, body }) => ({
      webhookId: String(json.data.webhookId),
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      body,
    })),
    logoutTokens: receiver.messages.filter(({ path }) => path === '/logout').map(({ body }) => readLogoutToken(body)),
    notices,
    endsAt: performance.now(),
  };
  const unexpected = recorder.unexpected.map((details) => ({ rule: 'an unexpected answer', details }));
  return { history, others: [...unexpected, ...pending], totals: readers.totals };
}

/** Creates what the workload needs. On a busy machine a call may not be answered in time. */
async function setUp(replicas: Replicas, receiver: WebhookReceiver) {
  const url = `${receiver.url}/all`;
  const create = async () => {
    const tenant = await createTenant(replicas, { sessionIdleSeconds: IDLE_SECONDS });
    const owner = await createTestUser(replicas);
    // The owner of a webhook is a user of the application.
    const sessionId = await beginSession(replicas, tenant, owner);
    await clientsOf(replicas, tenant).webhooks.createWebhook({ url, ownerId: owner.id, eventTypes: ['*'] });
    const oidcApplication = await createTenant(replicas);
    await adminClient(replicas).updateApplication({
      ...{ applicationId: oidcApplication.id, openIdConnect: true, publicClient: true, singleSignOn: true },
      backchannelLogoutUri: `${receiver.url}/logout`,
    });
    return { tenant, oidcApplication, ownerId: owner.id, sessionId };
  };
  for (let tries = 1; ; tries++) {
    try {
      return await create();
    } catch (error) {
      if (tries === SET_UP_TRIES) throw error;
    }
  }
}

/** Ten minutes older: a session with less than half of its life left is due. */
async function makeDue(sql: postgres.Sql, applicationId: string, userId: string): Promise<void> {
  await sql`
    with older as (
      update sessions set created_at = created_at - interval '10 min', expires_at = expires_at - interval '10 min'
      where application_id = ${applicationId} and user_id = ${userId} and expires_at > now() + interval '11 min'
      returning id, created_at, expires_at)
    update session_ids set created_at = older.created_at, expires_at = older.expires_at
    from older where session_ids.application_id = ${applicationId} and session_ids.id = older.id`;
}

/** A minute ago, the session and its predecessors expired. */
async function expire(sql: postgres.Sql, applicationId: string, userId: string): Promise<void> {
  await sql`
    with expired as (
      update sessions set created_at = now() - interval '16 min', expires_at = now() - interval '1 min'
      where application_id = ${applicationId} and user_id = ${userId} and expires_at > now())
    update session_ids set created_at = now() - interval '16 min', expires_at = now() - interval '1 min'
    where application_id = ${applicationId} and user_id = ${userId} and expires_at > now()`;
}

/** Returns what is wrong when messages stay undelivered. */
async function waitForDeliveries(sql: postgres.Sql, applicationIds: readonly string[]): Promise<Violation[]> {
  const deadline = performance.now() + DELIVERY_TIMEOUT_MS;
  for (;;) {
    const pending = await sql`
      select message_id::text as id, due_at, attempt_count, last_error from webhook_deliveries d
      where application_id in ${sql([...applicationIds])} and due_at is not null
        and exists (select from webhooks where application_id = d.application_id and id = d.webhook_id and is_active)
      union all
      select id::text, null, null, 'not fanned out' from webhook_messages
      where application_id in ${sql([...applicationIds])} and fanned_out_to is not null`;
    if (pending.length === 0) return [];
    if (performance.now() > deadline) {
      return [{ rule: 'deliveries are still pending', details: JSON.stringify(pending.slice(0, SHOWN)) }];
    }
    await sleep(250);
  }
}

/** Its signature is for the tests of back-channel logout. */
function readLogoutToken(form: string): LogoutToken {
  const [, payload = ''] = (new URLSearchParams(form).get('logout_token') ?? '').split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString());
}

/** Returns the addresses that notices have named, when each acknowledged change has one, or it has taken too long. */
async function waitForNotices({ mail }: Replicas, operations: readonly Operation[]): Promise<string[]> {
  const deadline = performance.now() + DELIVERY_TIMEOUT_MS;
  for (;;) {
    const notices = mail.emails.flatMap(({ raw }) => readUndoNotice(raw)?.to ?? []);
    if (findUntoldChanges(operations, notices).length === 0 || performance.now() > deadline) return notices;
    await sleep(250);
  }
}

/** Without refused sign-ins, which change nothing. */
async function readAuditLog(sql: postgres.Sql, prefix: string): Promise<AuditEvent[]> {
  return sql<AuditEvent[]>`
    select action, resource, request_id as "requestId" from audit_events
    where request_id like ${`${prefix}%`} and action not like 'SignIn/%'`;
}

/** Returns the longest time without an acknowledged write, in milliseconds. */
function longestGapOf(operations: readonly Operation[]): number {
  const returns = operations
    .filter((operation) => !isRead(operation) && answerOf(operation))
    .map(({ returnedAt }) => returnedAt)
    .sort((a, b) => a - b);
  return returns.reduce((longest, at, index) => Math.max(longest, at - (returns[index - 1] ?? at)), 0);
}

function summarize(violations: readonly Violation[]): string {
  const counts = [...Map.groupBy(violations, ({ rule }) => rule)].map(([rule, { length }]) => `${length} ${rule}`);
  return counts.length > 0 ? ` (${counts.join('; ')})` : '';
}
