import { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { UserService } from '../../../gen/usher/v1/user_pb.ts';
import { toMessage, toPage } from '../../api/handlers/to-message.ts';
import type { ModuleRpcs, RpcParts } from '../../api/module-rpcs.ts';
import { createApplicationProcedures, createServiceProcedures } from '../../api/procedures.ts';
import { toInvitation } from '../../domain/invitations/invitation.ts';
import { listInvitations } from '../../domain/invitations/list-invitations.ts';
import { inviteUser, inviteUserAsOperator } from './domain/invite-user.ts';
import { revokeInvitation } from './domain/revoke-invitation.ts';

/** Returns the RPCs with which applications and operators invite. */
export function createInvitationRpcs({ codeKeys, liveSessions, pageTokens }: RpcParts): ModuleRpcs {
  const ofApplications = createApplicationProcedures(UserService, {
    inviteUser: async (call, fields) => ({ invitation: toMessage(await inviteUser(call, codeKeys, fields)) }),
    listInvitations: async (call, fields) =>
      toPage('invitations', await listInvitations(call, pageTokens, fields), (row) => toMessage(toInvitation(row))),
    revokeInvitation: async (call, fields) => liveSessions.forgetUser(await revokeInvitation(call, fields)),
  });
  const ofOperators = createServiceProcedures(
    AdminService,
    {
      inviteUser: async (call, fields) => ({
        invitation: toMessage(await inviteUserAsOperator(call, codeKeys, fields)),
      }),
    },
    'adminKey',
  );
  return { procedures: [...ofApplications, ...ofOperators] };
}
