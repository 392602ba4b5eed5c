import type { Call } from '../call.ts';
import { endGrantsOfBrowser } from '../oidc/end-grants.ts';
import { endOwnSessions } from '../sessions/revoke-user-sessions.ts';
import { UUID } from '../validation.ts';
import { listAccountSessions } from './list-account-sessions.ts';

/**
 * Signs the user out of an application, or of one browser there. The browsers of an application share its session,
 * which ends with the last of them. Other text than a UUID is accepted: without a valid `applicationId`, nothing
 * happens, and without a valid `sid`, the user is signed out of the application.
 */
export async function endAccountSession(
  call: Call,
  { userId, applicationId, sid }: { readonly userId: string; readonly applicationId: string; readonly sid: string },
): Promise<void> {
  if (!UUID.test(applicationId)) return;
  if (UUID.test(sid)) {
    await endGrantsOfBrowser(call, { applicationId, userId, sid });
    const left = await listAccountSessions(call, userId);
    if (left.some((session) => session.applicationId === applicationId && session.sid !== undefined)) return;
  }
  await endOwnSessions(call, { applicationId, userId });
}
