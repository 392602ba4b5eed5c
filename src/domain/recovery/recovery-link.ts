import { type SQL, sql } from 'drizzle-orm';
import { recoveryLinks } from '../../database/schema/recovery-schema.ts';
import { columnsOf, nullable, p, type RowOfType, t } from '../../database/sql/template.ts';

/** What a person may have lost, and the use of a link removes. */
export const REMOVALS = ['ADDRESS', 'PASSKEYS', 'SECOND_FACTOR', 'WALLET', 'IDENTITIES'] as const;

export type Removal = (typeof REMOVALS)[number];

type RecoveryStatus = 'OPEN' | 'USED' | 'REVOKED' | 'STOPPED' | 'REPLACED' | 'EXPIRED' | 'FAILED';

const { userId, createdBy, createdAt, usableAt, expiresAt } = recoveryLinks;
const stored = { recoveryLinkId: recoveryLinks.id, userId, createdBy, createdAt, usableAt, expiresAt };

export const recoveryLinkColumns = {
  ...stored,
  removes: recoveryLinks.removes,
  status: t.textOf<RecoveryStatus>(),
  endedAt: nullable(t.instant),
};

/** A link without what opens it. */
export type RecoveryLink = RowOfType<typeof recoveryLinkColumns>;

/** The condition that the row `l` is a link that has not ended. Parameter: now. */
export const isOpenLink = sql`l.status = 'OPEN' and l.expires_at > ${p.instant('now')}`;

/** Returns `recoveryLinkColumns` of the row. Parameter: now. */
export function selectLinkColumns(row: 'recovery_links' | 'made'): SQL {
  return sql`${columnsOf(stored, row)}, ${sql.raw(row)}.removes, ${linkState(row)}`;
}

/** Returns the columns `status` and `ended_at`. Nothing writes that a link has expired. Parameter: now. */
export function linkState(row: 'recovery_links' | 'made'): SQL {
  const of = sql.raw(row);
  const hasExpired = sql`${of}.status = 'OPEN' and ${of}.expires_at <= ${p.instant('now')}`;
  return sql`case when ${hasExpired} then 'EXPIRED' else ${of}.status end as status,
    case when ${hasExpired} then ${of}.expires_at else ${of}.ended_at end as ended_at`;
}
