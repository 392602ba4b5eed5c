import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { addGroupMember } from '../../domain/groups/add-group-member.ts';
import { createGroup } from '../../domain/groups/create-group.ts';
import { deleteGroup } from '../../domain/groups/delete-group.ts';
import { getGroup } from '../../domain/groups/get-group.ts';
import { listApplicationGroups } from '../../domain/groups/list-application-groups.ts';
import { listGroupMembers } from '../../domain/groups/list-group-members.ts';
import { listGroups } from '../../domain/groups/list-groups.ts';
import { listUserGroups } from '../../domain/groups/list-user-groups.ts';
import { removeGroupMember } from '../../domain/groups/remove-group-member.ts';
import { setGroupAccess } from '../../domain/groups/set-group-access.ts';
import { updateGroup } from '../../domain/groups/update-group.ts';
import type { ServiceHandlers } from '../procedures.ts';
import type { ServiceParts } from '../service-parts.ts';
import { toMessage, toPage } from './to-message.ts';

/** Returns the handlers of AdminService that are about groups. */
export function createGroupHandlers({ liveSessions, pageTokens }: Pick<ServiceParts, 'liveSessions' | 'pageTokens'>) {
  const forget = (userIds: Iterable<string>) => {
    for (const userId of userIds) liveSessions.forgetUser(userId);
  };
  return {
    createGroup: async (call, fields) => ({ group: toMessage(await createGroup(call, fields)) }),
    getGroup: async (call, fields) => ({ group: toMessage(await getGroup(call, fields)) }),
    listGroups: async (call, fields) => toPage('groups', await listGroups(call, pageTokens, fields), toMessage),
    updateGroup: async (call, fields) => ({ group: toMessage(await updateGroup(call, fields)) }),
    deleteGroup: async (call, fields) => forget(await deleteGroup(call, fields)),
    addGroupMember,
    removeGroupMember: async (call, fields) => liveSessions.forgetUser(await removeGroupMember(call, fields)),
    listGroupMembers: async (call, fields) =>
      toPage('members', await listGroupMembers(call, pageTokens, fields), toMessage),
    listUserGroups: async (call, fields) => toPage('groups', await listUserGroups(call, pageTokens, fields), toMessage),
    setGroupAccess: async (call, fields) => forget(await setGroupAccess(call, fields)),
    listApplicationGroups: async (call, fields) => ({
      groups: (await listApplicationGroups(call, fields)).map(toMessage),
    }),
  } satisfies Partial<ServiceHandlers<typeof AdminService>>;
}
