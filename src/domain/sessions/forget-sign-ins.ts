/** Revocations also delete the sign-ins that browsers remember. Otherwise, "Continue as" would undo a sign-out. */
import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { computeSid } from './sid.ts';

/**
 * Returns the CTE `forgotten`, which deletes remembered sign-ins. In the condition, `r` is `remembered_sign_ins`, and
 * `t` is `target`. The CTE may have to ask every server, so the statements for applications that share no sign-ins omit
 * it.
 */
export function forgetSignIns(target: SQL, condition: SQL): SQL {
  return sql`forgotten as (
    delete from remembered_sign_ins r using ${target} t where ${condition}
  )`;
}

/**
 * Deletes remembered sign-ins that were stored while the revocation committed, for the reason given in
 * late-sessions.ts. The user signed in between `from` and `until`. If `until` is null, nothing is deleted.
 */
export async function forgetLateSignIns(
  { run }: Call,
  userId: string,
  { from, until }: { readonly from: Date | null; readonly until: Date | null },
): Promise<void> {
  if (until) await run(deleteLateSignIns, { userId, from, until });
}

/** Does the same for the sign-ins of one browser, up to `until`. Parameters as in `endGrantsOfBrowser`. */
export async function forgetLateSignInsOfBrowser(
  { run }: Call,
  browser: {
    readonly applicationId: string;
    readonly userId: string;
    readonly sid: string;
    readonly until: Date;
  },
): Promise<void> {
  await run(deleteLateSignInsOfBrowser, browser);
}

/** The condition that the browser of `r`, a row of `remembered_sign_ins`, has this `sid`. Parameter: applicationId. */
export function isRememberedIn(sid: SQL): SQL {
  return sql`${computeSid(p.uuid('applicationId'), sql`r.user_id`, sql`r.browser_digest`)} = ${sid}`;
}

const deleteLateSignInsOfBrowser = statement('delete_late_remembered_sign_ins_of_browser')`
  delete from remembered_sign_ins r
  where r.authenticated_at <= ${p.instant('until')} and ${isRememberedIn(p.uuid('sid'))}
    -- Equivalent: conjunct: a sid is of one user
    and r.user_id = ${p.uuid('userId')}`;

const deleteLateSignIns = statement('delete_late_remembered_sign_ins')`
  delete from remembered_sign_ins
  where user_id = ${p.uuid('userId')} and authenticated_at between ${p.instant('from')} and ${p.instant('until')}`;
