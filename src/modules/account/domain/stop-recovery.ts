/** The link in the notice of a recovery, with which whoever reads the user's e-mails stops it. */

import { sql } from 'drizzle-orm';
import { p, statement } from '../../../database/sql/template.ts';
import { auditEvent, noApplication } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import type { DerivedKeys } from '../../../domain/crypto/derived-keys.ts';
import { createNoticeToken, readNoticeToken } from '../../../domain/notices/notice-token.ts';
import { isOpenLink } from '../../../domain/recovery/recovery-link.ts';

const PURPOSE = 'stop a recovery';

export function createStopToken(keys: DerivedKeys, linkId: string, at: Date): string {
  return createNoticeToken(keys, PURPOSE, [linkId], at);
}

/** Returns the ID of the recovery link. */
export function readStopToken(keys: DerivedKeys, token: string, now: Date): string | undefined {
  return readNoticeToken(keys, PURPOSE, token, now)?.facts[0];
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
