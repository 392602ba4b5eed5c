import type { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { endGrant } from '../../domain/grants/end-grants.ts';
import { listGrants } from '../../domain/grants/list-grants.ts';
import { shownSignInTime } from '../../domain/login/sign-in-age.ts';
import { checkSession } from '../../domain/sessions/check-session.ts';
import { listRevocations, type Revocation } from '../../domain/sessions/list-revocations.ts';
import { listSessions } from '../../domain/sessions/list-sessions.ts';
import { renewSession } from '../../domain/sessions/renew-session.ts';
import { revokeSession } from '../../domain/sessions/revoke-session.ts';
import { revokeUserSessions } from '../../domain/sessions/revoke-user-sessions.ts';
import type { Session } from '../../domain/sessions/session.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import type { ServiceParts } from '../service-parts.ts';
import { toGrant, toMessage, toPage, toProfile } from './to-message.ts';

type Parts = Pick<ServiceParts, 'liveSessions' | 'pageTokens' | 'revocations' | 'sessionMaxAgeSeconds'>;

export function createSessionHandlers(parts: Parts): ApplicationHandlers<typeof SessionService> {
  const { liveSessions, pageTokens } = parts;
  return {
    async checkSession(call, fields) {
      const session = await checkSession(call, liveSessions, fields);
      return session ? { active: true, session: toSession(session) } : { active: false };
    },
    renewSession: async (call, fields) => ({ session: toMessage(await renewSession(call, parts, fields)) }),
    listSessions: async (call, fields) => toPage('sessions', await listSessions(call, pageTokens, fields), toSession),
    async revokeSession(call, fields) {
      const userId = await revokeSession(call, parts, fields);
      if (userId) liveSessions.forgetUser(userId);
    },
    revokeUserSessions: async (call, fields) => liveSessions.forgetUser(await revokeUserSessions(call, fields)),
    listGrants: async (call, fields) => toPage('grants', await listGrants(call, pageTokens, fields), toGrant),
    async endGrant(call, fields) {
      const userId = await endGrant(call, fields);
      if (userId) liveSessions.forgetUser(userId);
    },
    async listRevocations(call, fields) {
      const { revocations, until } = await listRevocations(call, parts, fields);
      return { revocations: revocations.map(toRevocation), until };
    },
  };
}

function toRevocation({ userId, grantId, cutoffAt }: Revocation) {
  const subject =
    userId !== null
      ? ({ case: 'userId', value: userId } as const)
      : grantId !== null
        ? ({ case: 'grantId', value: grantId } as const)
        : ({ case: 'everyUser', value: true } as const);
  return { ...toMessage({ cutoffAt }), subject };
}

function toSession(session: Session) {
  const authTime = shownSignInTime(session.method, session.authTime);
  return { ...toMessage({ ...session, authTime }), user: toProfile(session) };
}
