import type { Call } from '../call.ts';
import { endGrantsOfBrowser } from '../oidc/end-grants.ts';
import { revokeUserSessions } from '../sessions/revoke-user-sessions.ts';
import { UUID } from '../validation.ts';
import { listAccountSessions } from './list-account-sessions.ts';

/**
 * Signs the user out of an application, or of one browser there. The session ends with the last browser: nobody else
 * shows it. IDs may be any text.
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
  const application = { id: applicationId, name: '', clientId: '', redirectUris: [], singleSignOn: true };
  await revokeUserSessions({ ...call, application }, { userId });
}
