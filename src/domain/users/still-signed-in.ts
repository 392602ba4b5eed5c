import { sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';

/**
 * The condition that no cut-off has ended every sign-in of the user since the caller found the user signed in. Only for
 * a statement that locks the row of `users`: of the tables of cut-offs, a statement that has waited sees old rows.
 * Parameter: `cutoffParameter`.
 */
export const isStillSignedIn = sql`users.cutoff_count = coalesce(${p.integer('cutoffCount')}, users.cutoff_count)`;

export function cutoffParameter({ cutoffCount }: Call): { readonly cutoffCount: number | null } {
  return { cutoffCount: cutoffCount ?? null };
}
