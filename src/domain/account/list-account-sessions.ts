import { applications } from '../../database/schema.ts';
import { sessions } from '../../database/session-schema.ts';
import { p, type RowOfType, statement, t } from '../../database/template.ts';
import type { Call } from '../call.ts';
import type { SignInMethod } from '../login/verify-token.ts';
import { renewableFor } from '../sessions/session.ts';

const columns = {
  applicationId: sessions.applicationId,
  applicationName: applications.name,
  method: t.textOf<SignInMethod>(),
  ipAddress: sessions.ipAddress,
  userAgent: sessions.userAgent,
  beganAt: sessions.beganAt,
};

/** Where a user is signed in. */
export type AccountSession = RowOfType<typeof columns>;

/** Returns the sessions of the user that are live or can be renewed, in every application, the newest first. */
export async function listAccountSessions({ run, now }: Call, userId: string): Promise<readonly AccountSession[]> {
  return run(selectSessions, { userId, now });
}

const selectSessions = statement('select_account_sessions', columns)`
  select s.application_id, a.name as application_name, s.method, s.ip_address, s.user_agent, s.began_at
  from sessions s join applications a on a.id = s.application_id and a.deleted_at is null
  where s.user_id = ${p.uuid('userId')} and s.expires_at + ${renewableFor} > ${p.instant('now')}
  order by s.began_at desc, s.application_id limit 500`;
