/** The tables whose rows expire, and how long each is kept. */
import { and, gt, lte, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { auditEvents, isSignIn } from '../database/audit-schema.ts';
import type { Statement } from '../database/database.ts';
import { provedIdentities } from '../database/identity-schema.ts';
import {
  knownOrigins,
  loginCodes,
  mutedAddresses,
  rateLimits,
  rememberedSignIns,
  walletChallenges,
} from '../database/login-schema.ts';
import { notices } from '../database/notice-schema.ts';
import { oidcGrants } from '../database/oidc-schema.ts';
import { hourlyCounts, idempotencyKeys } from '../database/operations-schema.ts';
import { loginIntents } from '../database/schema.ts';
import { browserCutoffs, sessionCutoffs, sessionIds, userCutoffs } from '../database/session-schema.ts';
import { p, statement } from '../database/template.ts';
import { webhookAttempts, webhookDeliveries, webhookMessages, webhookSigningKeys } from '../database/webhook-schema.ts';
import { OWN_APPLICATION_IDS } from '../domain/core/own-applications.ts';

/** Until then a late login gets `Login intent expired` instead of `Login intent not found`. */
const INTENT_GRACE_MS = 60 * 60_000;

export const DAY_MS = 24 * 60 * 60_000;

/** For how many days rows are kept, as settings say. */
export interface LogDays {
  readonly webhookLogDays: number;
  readonly auditLogDays: number;
  readonly signInLogDays: number;
}

/** Until then the last attempt fails, and logs that the notice was not sent. */
const NOTICE_GRACE_MS = 60 * 60_000;

const HOURLY_COUNTS_DAYS = 90;

/** Keeps messages four days longer: a redelivery on the last day still retries. */
const MESSAGE_GRACE_MS = 4 * DAY_MS;

/**
 * Deletes the sessions of a batch of `session_ids`, but not their successors. `sessions` has no index on the expiry.
 */
const deleteSessions = statement('delete_sessions')`
  delete from sessions where (application_id, user_id, id) in (
    select application_id, user_id, id from session_ids
    where kept_until > ${p.instant('after')} and kept_until <= ${p.instant('until')})`;

/** Anybody can begin a login of OpenID Connect or of the account page, and fill its row. So the row goes with the login. */
const isAbandoned = sql`${loginIntents.completedAt} is null and (${loginIntents.responseMode} <> '' or
    ${loginIntents.applicationId} in (${sql.raw(OWN_APPLICATION_IDS.map((id) => `'${id}'`).join(', '))}))`;

export interface ExpiringRows {
  /** The column must have an index. */
  readonly expiresAt: PgColumn;
  /** How long rows are kept after `expiresAt`. */
  readonly graceMs: number;
  /** The setting whose days are added to `graceMs`. */
  readonly keptFor?: keyof LogDays;
  /** Selects the rows of the table that expire; the others are kept for longer. */
  readonly only?: SQL;
  /** The name of the row in `expiry_marks` with the progress. Without it, each run would read the kept rows again. */
  readonly mark?: string;
  /** Deletes the rows of other tables that belong to the rows of a batch. */
  readonly deleteDependents?: Statement<unknown>;
}

export const EXPIRING: readonly ExpiringRows[] = [
  { expiresAt: loginCodes.expiresAt, graceMs: 0 },
  { expiresAt: walletChallenges.expiresAt, graceMs: 0 },
  { expiresAt: provedIdentities.expiresAt, graceMs: 0 },
  { expiresAt: loginIntents.expiresAt, graceMs: 0, only: isAbandoned, mark: 'abandoned-logins' },
  { expiresAt: loginIntents.expiresAt, graceMs: INTENT_GRACE_MS },
  { expiresAt: sessionIds.keptUntil, graceMs: 0, deleteDependents: deleteSessions },
  { expiresAt: sessionCutoffs.expiresAt, graceMs: 0 },
  { expiresAt: userCutoffs.expiresAt, graceMs: 0 },
  { expiresAt: browserCutoffs.expiresAt, graceMs: 0 },
  { expiresAt: rateLimits.expiresAt, graceMs: 0 },
  { expiresAt: auditEvents.occurredAt, graceMs: 0, keptFor: 'auditLogDays' },
  { expiresAt: auditEvents.occurredAt, graceMs: 0, keptFor: 'signInLogDays', only: isSignIn, mark: 'sign-ins' },
  { expiresAt: knownOrigins.expiresAt, graceMs: 0 },
  { expiresAt: mutedAddresses.expiresAt, graceMs: 0 },
  { expiresAt: rememberedSignIns.expiresAt, graceMs: 0 },
  { expiresAt: oidcGrants.expiresAt, graceMs: 0 },
  { expiresAt: notices.expiresAt, graceMs: NOTICE_GRACE_MS },
  { expiresAt: idempotencyKeys.expiresAt, graceMs: 0 },
  { expiresAt: hourlyCounts.hour, graceMs: HOURLY_COUNTS_DAYS * DAY_MS },
  { expiresAt: webhookSigningKeys.expiresAt, graceMs: 0 },
  { expiresAt: webhookAttempts.attemptedAt, graceMs: 0, keptFor: 'webhookLogDays' },
  { expiresAt: webhookDeliveries.createdAt, graceMs: MESSAGE_GRACE_MS, keptFor: 'webhookLogDays' },
  { expiresAt: webhookMessages.createdAt, graceMs: MESSAGE_GRACE_MS, keptFor: 'webhookLogDays' },
];

/** Selects rows that expire after the parameter `after`, up to and including `until`. */
export function isInBatch({ expiresAt, only }: Pick<ExpiringRows, 'expiresAt' | 'only'>): SQL | undefined {
  return and(gt(expiresAt, p.instant('after')), lte(expiresAt, p.instant('until')), only);
}
