import type { Call } from '../../../domain/core/call.ts';
import { UUID } from '../../../domain/core/validation.ts';
import { endGrantsOfBrowser } from '../../../domain/grants/end-grants.ts';
import { listAccountSessions } from '../../../domain/grants/list-account-sessions.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { cutOffBrowser } from '../../../domain/sessions/browser-cutoffs.ts';
import { endOwnSessions } from '../../../domain/sessions/revoke-user-sessions.ts';

interface EndedSession {
  readonly userId: string;
  readonly applicationId: string;
  readonly sid: string;
  /** The browser in which the user ends it. */
  readonly browser: Pick<Browser, 'digest'>;
}

/**
 * Signs the user out of an application, or of one browser there. The browsers of an application share its session,
 * which ends with the last of them. If it was in another browser, the user is signed out there of Usher's pages, too.
 * Other text than a UUID is accepted: without a valid `applicationId`, nothing happens, and without a valid `sid`, the
 * user is signed out of the application.
 */
export async function endAccountSession(
  call: Call,
  { userId, applicationId, sid, browser }: EndedSession,
): Promise<void> {
  if (!UUID.test(applicationId)) return;
  const find = async () =>
    (await listAccountSessions(call, userId)).filter((session) => session.applicationId === applicationId);
  const found = await find();
  // A made-up `sid` must not fill the table of cut-offs.
  const wanted = UUID.test(sid) ? sid.toLowerCase() : undefined;
  const ended = found.find((session) => session.sid === wanted);
  const { browserDigest } = ended ?? {};
  const isElsewhere = browserDigest && !browserDigest.equals(browser.digest);
  if (isElsewhere) await cutOffBrowser(call, { userId, browserDigest });
  if (wanted !== undefined) {
    if (ended) await endGrantsOfBrowser(call, { applicationId, userId, sid });
    const [left] = await find();
    if (left?.sid !== undefined) return;
  }
  await endOwnSessions(call, { applicationId, userId });
}
