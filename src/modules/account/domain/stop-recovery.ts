/** The link in the notice of a recovery, with which whoever reads the user's e-mails stops it. */

import { sql } from 'drizzle-orm';
import { DAY_MS } from '../../../database/schema/table-facts.ts';
import { p, statement } from '../../../database/sql/template.ts';
import { auditEvent, noApplication } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import { openToken, sealToken } from '../../../domain/crypto/aes-gcm.ts';
import type { DerivedKeys } from '../../../domain/crypto/derived-keys.ts';
import { LINK_DAYS } from '../../../domain/notices/due-notices.ts';
import { isOpenLink } from '../../../domain/recovery/recovery-link.ts';

const PURPOSE = 'stop a recovery';

/** Returns the token of the link, which works for 7 days. */
export function createStopToken(keys: DerivedKeys, linkId: string, at: Date): string {
  return sealToken(keys, JSON.stringify([linkId, at.getTime() + LINK_DAYS * DAY_MS]), PURPOSE);
}

/** Returns the ID of the recovery link. Returns undefined for an invalid token, and after 7 days. */
export function readStopToken(keys: DerivedKeys, token: string, now: Date): string | undefined {
  const text = openToken(keys, token, PURPOSE);
  if (text === undefined) return undefined;
  const [linkId, expiresAt] = JSON.parse(text);
  return now.getTime() < expiresAt ? linkId : undefined;
}

/** Ends the recovery link, and nothing else. Returns whether it was open. */
export async function stopRecovery(call: Call, linkId: string): Promise<boolean> {
  const [stopped] = await call.run(stopLink, { linkId, now: call.now, auditAction: 'RecoveryService/Stop' });
  return stopped !== undefined;
}

const stopLink = statement('stop_recovery_link')`
  with stopped as (
    update recovery_links l set status = 'STOPPED', ended_at = ${p.instant('now')}
    where l.id = ${p.uuid('linkId')} and ${isOpenLink}
    returning l.user_id
  ), ${auditEvent({ resource: sql`user_id`, from: sql`stopped`, applicationId: noApplication })}
  select from stopped`;
