import type { Call } from '../../../domain/core/call.ts';
import { UUID } from '../../../domain/core/validation.ts';
import { endGrantsOfBrowser } from '../../../domain/grants/end-grants.ts';
import { listAccountSessions } from '../../../domain/grants/list-account-sessions.ts';
import { endOwnSessions } from '../../../domain/sessions/revoke-user-sessions.ts';

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
    const grants = async () =>
      (await listAccountSessions(call, userId)).filter(
        (session) => session.applicationId === applicationId && session.sid !== undefined,
      );
    // A made-up `sid` must not fill the table of cut-offs.
    const isKnown = (await grants()).some((session) => session.sid === sid.toLowerCase());
    if (isKnown) await endGrantsOfBrowser(call, { applicationId, userId, sid });
    if ((await grants()).length > 0) return;
  }
  await endOwnSessions(call, { applicationId, userId });
}
