import type { ApplicationCall } from '../core/call.ts';
import { check, identifier, integer, optional, type Unchecked, UUID } from '../core/validation.ts';
import { type LiveSessions, MAX_STALENESS_MS } from './live-sessions.ts';
import type { Session } from './session.ts';

const rules = { sessionId: identifier, maxStalenessMs: optional(integer({ min: 0, max: MAX_STALENESS_MS })) };

/** Returns the session if it is live. The answer of Postgres is at most `maxStalenessMs` old. */
export async function checkSession(
  { application, now }: ApplicationCall,
  liveSessions: LiveSessions,
  request: Unchecked<keyof typeof rules>,
): Promise<Session | undefined> {
  const { sessionId, maxStalenessMs } = check(request, rules);
  if (!UUID.test(sessionId)) return undefined;
  const found = await liveSessions.find(application.id, sessionId.toLowerCase(), maxStalenessMs ?? MAX_STALENESS_MS);
  return found && found.expiresAt > now ? found : undefined;
}
