/**
 * Since when a new passkey, account at a provider or second factor of a user counts. Whoever reads a person's e-mails
 * can sign in by a code and add a credential of their own. So one that is added after a weaker sign-in than the user is
 * capable of is young for 7 days: it does not count, and a sign-in with it has one factor. A column `counts_from` holds
 * the instant. Null, also in rows from before the rule: at once.
 */
import { type SQL, sql } from 'drizzle-orm';
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { p } from '../../database/sql/template.ts';
import { ONE_FACTOR, PHISHING_RESISTANT, TWO_FACTORS } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { LINK_DAYS } from '../notices/due-notices.ts';

/** As long as the link in the notice of a new credential works. */
const YOUNG_MS = LINK_DAYS * DAY_MS;

/** The sign-in within which a user adds a credential. */
export interface AddingSignIn {
  /** Null: one factor. */
  readonly assurance: number | null;
  /** Whether an operator vouches for who is at the browser: by a link, or by trust in the addresses of a provider. */
  readonly isVouchedFor: boolean;
}

/** The sign-in of somebody for whom an operator vouches. */
export const VOUCHED_FOR: AddingSignIn = { assurance: ONE_FACTOR, isVouchedFor: true };

/** The sign-in of somebody who has entered a code. */
export const BY_CODE: AddingSignIn = { assurance: ONE_FACTOR, isVouchedFor: false };

/** Returns the parameters of `countsFrom` and `isStrongEnough`, apart from `userId`. */
export function ageParameters({ now }: Pick<Call, 'now'>, { assurance, isVouchedFor }: AddingSignIn) {
  return {
    addingAssurance: assurance ?? ONE_FACTOR,
    isVouchedFor,
    youngUntil: youngUntil(now),
    removedBefore: new Date(now.getTime() - YOUNG_MS),
  };
}

export function youngUntil(now: Date): Date {
  return new Date(now.getTime() + YOUNG_MS);
}

/** Returns the `counts_from` of a new credential, which counts at once if the condition holds or somebody vouches. */
export function countsFrom(isOldEnough: SQL): SQL {
  return sql`case when ${p.boolean('isVouchedFor')} or ${isOldEnough} then null else ${p.instant('youngUntil')} end`;
}

/** Whether the user has a passkey. Parameter: userId. Not correlated, because tables may be distributed. */
const hasAnyPasskey = sql`(select count(*) from passkeys where user_id = ${p.uuid('userId')}) > 0`;

/**
 * Returns the condition that a sign-in may add a credential that counts at once: it has the level of sign-ins with that
 * credential, or the highest level of which the row `users` is capable, or was in the last 7 days. Otherwise, whoever
 * reads the e-mails could replace what the user has removed.
 *
 * @param level the highest level of a sign-in with the credential
 */
export function isStrongEnough(level: SQL, hasPasskey: SQL = hasAnyPasskey): SQL {
  return sql`${p.integer('addingAssurance')} >= least(${level}, case
    when ${hasPasskey} or users.passkey_removed_at > ${p.instant('removedBefore')} then ${sql.raw(String(PHISHING_RESISTANT))}
    when users.has_second_factor then ${sql.raw(String(TWO_FACTORS))}
    else ${sql.raw(String(ONE_FACTOR))} end)`;
}

/** Returns whether a credential does not count yet. */
export function isYoung(countsFrom: Date | null, now: Date): countsFrom is Date {
  // Equivalent: default: nothing is not later either
  return (countsFrom ?? now) > now;
}

/** Returns the rows as pages show them: `countsFrom` is null once they count. */
export function showYoung<Row extends { readonly countsFrom: Date | null }>(rows: readonly Row[], now: Date): Row[] {
  return rows.map((row) => (isYoung(row.countsFrom, now) ? row : { ...row, countsFrom: null }));
}

/** Returns the condition that it counts, by its column. Parameter: now. */
export function isCounting(column: SQL): SQL {
  return sql`coalesce(${column} <= ${p.instant('now')}, true)`;
}

/**
 * Returns what an update of `users u` sets when what makes others young is removed: passkeys, or the second factor. One
 * in its place is young. Parameter: now.
 */
export function credentialRemoved(isRemoved: SQL): SQL {
  return sql`passkey_removed_at = case when ${isRemoved} then ${p.instant('now')} else u.passkey_removed_at end`;
}
