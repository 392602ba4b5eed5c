import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../webhooks/insert-message.ts';
import { loggedOutOfBrowser } from '../webhooks/logout-message.ts';

export interface BrowserLogin {
  readonly applicationId: string;
  readonly userId: string;
  /** What names the browser in ID tokens. */
  readonly sid: string;
}

/** Ends the grants that a user has given the application in one browser. Those of other browsers live on. */
export async function endBrowserGrants({ run, now, onMessage }: Call, login: BrowserLogin): Promise<void> {
  const [ended] = await run(endGrants, { ...login, now });
  if (ended) announce(onMessage, ended);
}

const endGrants = statement('end_oidc_grants_of_browser', HAS_MESSAGES)`
  with ended as (
    update oidc_grants set expires_at = ${p.instant('now')}
    where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')} and sid = ${p.uuid('sid')}
      and expires_at > ${p.instant('now')}
    returning user_id, sid
  ), target as (
    select distinct user_id, sid from ended
  ), ${auditEvent({ resource: sql`user_id`, from: sql`target` })},
  ${messagesOf(...loggedOutOfBrowser(sql`target`))}
  select ${notified} from target`;
