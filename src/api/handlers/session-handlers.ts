import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { checkSession } from '../../domain/sessions/check-session.ts';
import { revokeSession } from '../../domain/sessions/revoke-session.ts';
import { revokeUserSessions } from '../../domain/sessions/revoke-user-sessions.ts';
import type { Session } from '../../domain/sessions/session.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toProfile } from './to-profile.ts';

export function createSessionHandlers(): ApplicationHandlers<typeof SessionService> {
  return {
    async checkSession(fields, call) {
      const session = await checkSession(call, fields);
      return session ? { active: true, session: toSession(session) } : { active: false };
    },

    async revokeSession(fields, call) {
      await revokeSession(call, fields);
      return {};
    },

    async revokeUserSessions(fields, call) {
      await revokeUserSessions(call, fields);
      return {};
    },
  };
}

function toSession({ userId, createdAt, expiresAt, ipAddress, userAgent, method, ...profile }: Session) {
  return {
    userId,
    user: toProfile(profile),
    createdAt: timestampFromDate(createdAt),
    expiresAt: timestampFromDate(expiresAt),
    ipAddress,
    userAgent,
    method,
  };
}
