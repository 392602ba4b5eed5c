/**
 * Sign-ins that failed or were refused, as events of the audit log. An event belongs to a user only if the person has
 * proved something about that user. No event has an address that somebody has typed.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Run } from '../../database/pool/database.ts';
import { ATTEMPT_PREFIX } from '../../database/schema/audit-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { type AttemptCause, type ErrorReason, ServiceError } from '../core/errors.ts';
import { UUID } from '../core/validation.ts';
import { hmac } from '../crypto/derived-keys.ts';
import { removeIfErased } from '../users/personal-data.ts';
import type { LoginCodeKeys, LoginCodeSettings } from './login-code.ts';
import { findLoginIntent } from './login-intent.ts';
import { siteOf } from './network.ts';
import { type RateLimit, type SharedLimit, takeNetworkPermits, takePermit } from './rate-limit.ts';

/** The reasons of errors that refuse a sign-in. */
const REFUSALS = [
  'ACCESS_NOT_ALLOWED',
  'ACCOUNT_CLOSED',
  'ASSURANCE_NOT_MET',
  'CODE_NOT_VALID',
  'CONTRACT_WALLET_NOT_SUPPORTED',
  'IDENTITY_ALREADY_LINKED',
  'INVALID_PASSKEY',
  'INVALID_SIGNATURE',
  'LOGIN_INTENT_COMPLETED',
  'LOGIN_INTENT_EXPIRED',
  'LOGIN_METHOD_NOT_ENABLED',
  'PASSKEY_TOO_NEW',
  'PROVIDER_UNAVAILABLE',
  'SIGN_IN_NOT_FRESH',
  'SIGN_IN_NOT_REMEMBERED',
  'TOO_MANY_CODES',
  'TOO_MANY_SIGN_INS',
  'UNKNOWN_IDENTITY',
  'UNKNOWN_PASSKEY',
  'UNKNOWN_WALLET',
  'USER_NOT_FOUND',
  'WALLET_ALREADY_LINKED',
  'WRONG_SECOND_FACTOR',
] as const satisfies readonly ErrorReason[];

export type AttemptReason = (typeof REFUSALS)[number] | AttemptCause;

/** Returns why the sign-in was refused, or undefined if the error says nothing about a sign-in. */
export function attemptReasonOf({ reason, attempt }: ServiceError): AttemptReason | undefined {
  return attempt?.cause ?? REFUSALS.find((refusal) => refusal === reason);
}

/** Runs the work of a login that has proved something about the user. A refusal then belongs to the user. */
export async function provingUser<Result>(userId: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError) error.attempt ??= { userId };
    throw error;
  }
}

const MINUTE_MS = 60_000;

const OF_PLACE: SharedLimit = {
  subject: 'sign-in attempts',
  perNetwork: { burst: 30, intervalMs: MINUTE_MS },
  perSite: { burst: 100, intervalMs: MINUTE_MS / 3 },
};
/** At most 126 events a day. The codes of strangers fail 82 times a day at most. */
const OF_USER: RateLimit = { burst: 30, intervalMs: 15 * MINUTE_MS };
/** Of events that belong to no user. Anybody can cause them, from any number of networks. */
const OF_APPLICATION: RateLimit = { burst: 500, intervalMs: MINUTE_MS };

interface Attempt {
  readonly loginIntentId: string;
  readonly reason: AttemptReason;
  readonly userId: string | null;
  readonly method: string | null;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
}

/** Adds the event, unless the network, the user or the application has had too many. Errors are ignored: nobody waits for it. */
export async function recordAttempt(
  call: Call,
  codes: Pick<LoginCodeSettings, 'keys'> & Partial<LoginCodeSettings>,
  attempt: Attempt,
): Promise<void> {
  try {
    await record(call, codes, attempt);
  } catch {}
}

async function record(
  call: Call,
  codes: Parameters<typeof recordAttempt>[1],
  { loginIntentId, reason, userId, method, ipAddress, userAgent }: Attempt,
): Promise<void> {
  // Equivalent: guard: Postgres refuses other texts, and errors are ignored
  if (!UUID.test(loginIntentId)) return;
  const intent = await findLoginIntent(call, loginIntentId);
  // Equivalent: guard: errors are ignored
  if (!intent) return;
  const { applicationId } = intent;
  if (ipAddress && !(await takeNetworkPermits(call, codes, ipAddress, OF_PLACE))) return;
  if (await takePermit(call, keyOf(codes.keys, userId ?? applicationId), userId ? OF_USER : OF_APPLICATION)) {
    const network = ipAddress && siteOf(ipAddress);
    await call.run(insertAttempt, {
      applicationId,
      reason,
      resource: userId ?? '',
      method,
      userAgent,
      network,
      count: 1,
    });
  }
  // Without a user, too: what follows a wrong code must not reveal whether the address has one.
  await removeIfErased(call, userId ?? randomUUID());
}

function keyOf(keys: LoginCodeKeys, subject: string): Buffer {
  return hmac(keys[0], `sign-in attempts: ${subject}`);
}

/** Bounds the memory, and the work of a save. */
const MAX_NETWORKS = 100;

/**
 * Counts, by application and network, how often somebody asks for a code with an address that has no user and may not
 * sign up. The counts are kept in memory until `save`: a statement for each would reveal that the address is unknown.
 */
export class UnknownAddresses {
  readonly #keys: LoginCodeKeys;
  #counts = new Map<string, { readonly applicationId: string; readonly network: string; count: number }>();

  constructor(keys: LoginCodeKeys) {
    this.#keys = keys;
  }

  add(applicationId: string, ipAddress: string): void {
    const network = siteOf(ipAddress);
    const key = `${applicationId} ${network}`;
    const entry = this.#counts.get(key);
    if (entry) entry.count++;
    else if (this.#counts.size < MAX_NETWORKS) this.#counts.set(key, { applicationId, network, count: 1 });
  }

  /** Adds an event for each application and network. */
  async save(run: Run, now: Date): Promise<void> {
    const unsaved = [...this.#counts.values()];
    this.#counts = new Map();
    for (const entry of unsaved) {
      if (!(await takePermit({ run, now }, keyOf(this.#keys, entry.applicationId), OF_APPLICATION))) continue;
      const event = { resource: '', reason: 'NO_ACCOUNT', method: 'email', userAgent: null };
      await run(insertAttempt, { ...entry, ...event, now, auditId: randomUUID(), auditRequestId: '' });
    }
  }
}

/** Like other events of the login page, it has no address. */
const insertAttempt = statement('insert_sign_in_attempt')`
  insert into audit_events
    (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id, method, user_agent,
      network, attempts)
  values (${p.uuid('applicationId')}, ${p.instant('now')}, ${p.uuid('auditId')}, 'login_page', '',
    ${sql.raw(`'${ATTEMPT_PREFIX}'`)} || ${p.text('reason')}, ${p.text('resource')}, '', ${p.text('auditRequestId')},
    ${p.text('method')}, ${p.text('userAgent')}, ${p.text('network')}, ${p.integer('count')})`;
