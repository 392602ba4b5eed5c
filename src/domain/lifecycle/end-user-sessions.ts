import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { loggedOutEverywhere } from '../outbox/logout-message.ts';
import { sessionsRevoked } from '../outbox/user-messages.ts';
import { cutOffUserSessions, runCutoff } from '../sessions/cutoffs.ts';
import { endLateSessions } from '../sessions/late-sessions.ts';
import { cutoffParameter, isStillSignedIn } from '../users/still-signed-in.ts';

const rules = { userId: uuid };

/**
 * Ends the sessions and unused auth tokens of a user in every application, and returns the user's ID.
 *
 * @throws ServiceError `User not found`
 */
export async function endUserSessions(call: Call, request: Unchecked<keyof typeof rules>): Promise<string> {
  const { userId } = check(request, rules);
  const [ended] = await runCutoff(call, endSessionsEverywhere, { userId, ...cutoffParameter(call) });
  if (!ended) throw new ServiceError('USER_NOT_FOUND');
  announce(call.onMessage, ended);
  await endLateSessions(call, userId);
  return userId;
}

const endSessionsEverywhere = statement('end_sessions_everywhere', HAS_MESSAGES)`
  with target as (
    -- Not a plain lock: where tables are distributed, a server could then not read the rows that the messages need.
    update users set cutoff_count = users.cutoff_count + 1
    where id = ${p.uuid('userId')} and deleted_at is null and ${isStillSignedIn}
    returning id
  ), ${auditEvent({ resource: sql`id`, from: sql`target`, applicationId: noApplication })},
  ${cutOffUserSessions(sql`target`)},
  ${messagesOf(sessionsRevoked(sql`ended`), ...loggedOutEverywhere(sql`target`))}
  select ${notified} from target`;
