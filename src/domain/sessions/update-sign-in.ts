import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';

/**
 * Makes a session one of a later sign-in, unless it has ended. Cut-offs end it by the first sign-in nevertheless: they end
 * IDs that were given out before.
 */
export const updateSignIn = statement('update_sign_in')`
  with updated as (
    update sessions set last_authenticated_at = ${p.instant('authenticatedAt')}, method = ${p.text('method')}
    where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')} and id = ${p.uuid('sessionId')}
      and greatest(authenticated_at, last_authenticated_at) < ${p.instant('authenticatedAt')}
    returning user_id
  ), ${auditEvent({ resource: sql`user_id`, from: sql`updated` })}
  select from updated`;
