import type { Call } from '../../../../domain/core/call.ts';
import { endGrantsOfBrowser } from '../../../../domain/grants/end-grants.ts';
import { isOfBrowser, listAccountSessions } from '../../../../domain/grants/list-account-sessions.ts';

/** Ends the logins by OpenID Connect that the user has in this browser, at every application. */
export async function endLoginsOfBrowser(
  call: Call,
  { userId, browserDigest }: { readonly userId: string; readonly browserDigest: Buffer },
): Promise<void> {
  for (const session of await listAccountSessions(call, userId)) {
    const { applicationId, sid } = session;
    if (sid === undefined || !isOfBrowser(session, userId, browserDigest)) continue;
    await endGrantsOfBrowser(call, { applicationId, userId, sid });
  }
}
