import type { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import { checkSession } from '../../domain/sessions/check-session.ts';
import { listSessions } from '../../domain/sessions/list-sessions.ts';
import type { LiveSessions } from '../../domain/sessions/live-sessions.ts';
import { renewSession } from '../../domain/sessions/renew-session.ts';
import { revokeSession } from '../../domain/sessions/revoke-session.ts';
import { revokeUserSessions } from '../../domain/sessions/revoke-user-sessions.ts';
import type { Session } from '../../domain/sessions/session.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toMessage, toProfile } from './to-message.ts';

export function createSessionHandlers({
  liveSessions,
  pageTokens,
  sessionMaxAgeSeconds,
}: {
  liveSessions: LiveSessions;
  pageTokens: PageTokens;
  sessionMaxAgeSeconds: number;
}): ApplicationHandlers<typeof SessionService> {
  return {
    async checkSession(fields, call) {
      const session = await checkSession(call, liveSessions, fields);
      return session ? { active: true, session: toSession(session) } : { active: false };
    },

    async renewSession(fields, call) {
      return { session: toMessage(await renewSession(call, { sessionMaxAgeSeconds }, fields)) };
    },

    async listSessions(fields, call) {
      const { rows, nextPageToken } = await listSessions(call, pageTokens, fields);
      return { sessions: rows.map(toSession), nextPageToken };
    },

    async revokeSession(fields, call) {
      const userId = await revokeSession(call, fields);
      if (userId) await liveSessions.forgetUser(userId);
      return {};
    },

    async revokeUserSessions(fields, call) {
      await liveSessions.forgetUser(await revokeUserSessions(call, fields));
      return {};
    },
  };
}

function toSession(session: Session) {
  return { ...toMessage(session), user: toProfile(session) };
}
