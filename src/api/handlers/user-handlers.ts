import type { UserService } from '../../../gen/usher/v1/user_pb.ts';
import { toInvitation } from '../../domain/invitations/invitation.ts';
import { inviteUser } from '../../domain/invitations/invite-user.ts';
import { listInvitations } from '../../domain/invitations/list-invitations.ts';
import { revokeInvitation } from '../../domain/invitations/revoke-invitation.ts';
import { batchGetUsers } from '../../domain/users/batch-get-users.ts';
import { getApplicationUser } from '../../domain/users/get-application-user.ts';
import { listApplicationUsers } from '../../domain/users/list-application-users.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import type { ServiceParts } from '../service-parts.ts';
import { toMessage, toPage } from './to-message.ts';

export function createUserHandlers({
  codeKeys,
  liveSessions,
  pageTokens,
}: Pick<ServiceParts, 'codeKeys' | 'liveSessions' | 'pageTokens'>): ApplicationHandlers<typeof UserService> {
  return {
    getUser: async (call, fields) => ({ user: toMessage(await getApplicationUser(call, fields)) }),
    listUsers: async (call, fields) => toPage('users', await listApplicationUsers(call, pageTokens, fields), toMessage),
    inviteUser: async (call, fields) => ({ invitation: toMessage(await inviteUser(call, codeKeys, fields)) }),
    listInvitations: async (call, fields) =>
      toPage('invitations', await listInvitations(call, pageTokens, fields), (row) => toMessage(toInvitation(row))),
    revokeInvitation: async (call, fields) => liveSessions.forgetUser(await revokeInvitation(call, fields)),
    batchGetUsers: async (call, fields) => ({ users: (await batchGetUsers(call, fields)).map(toMessage) }),
  };
}
