/** Revocations also end the sign-ins that browsers remember, or "Continue as" would undo a sign-out. */
import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';

/**
 * Returns the CTE `forgotten`, which deletes the remembered sign-ins that the condition on `r` and `t` selects. On Citus it
 * asks every shard, so statements of applications that share no sign-ins do without it.
 */
export function forgetSignIns(target: SQL, condition: SQL): SQL {
  return sql`forgotten as (
    delete from remembered_sign_ins r using ${target} t where ${condition}
  )`;
}

/**
 * Deletes sign-ins of that time that were remembered while the revocation has committed. See late-sessions.ts. Without
 * an end there is none.
 */
export async function forgetLateSignIns(
  { run }: Call,
  userId: string,
  { from, until }: { readonly from: Date; readonly until: Date | null },
): Promise<void> {
  if (until) await run(deleteLateSignIns, { userId, from, until });
}

const deleteLateSignIns = statement('delete_late_remembered_sign_ins')`
  delete from remembered_sign_ins
  where user_id = ${p.uuid('userId')} and authenticated_at between ${p.instant('from')} and ${p.instant('until')}`;
