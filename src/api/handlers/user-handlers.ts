import type { UserService } from '../../../gen/usher/v1/user_pb.ts';
import { batchGetUsers } from '../../domain/users/batch-get-users.ts';
import { getApplicationUser } from '../../domain/users/get-application-user.ts';
import { listApplicationUsers } from '../../domain/users/list-application-users.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import type { ServiceParts } from '../service-parts.ts';
import { toMessage, toPage } from './to-message.ts';

/** A module has the RPCs of invitations. */
export function createUserHandlers({
  pageTokens,
}: Pick<ServiceParts, 'pageTokens'>): Partial<ApplicationHandlers<typeof UserService>> {
  return {
    getUser: async (call, fields) => ({ user: toMessage(await getApplicationUser(call, fields)) }),
    listUsers: async (call, fields) => toPage('users', await listApplicationUsers(call, pageTokens, fields), toMessage),
    batchGetUsers: async (call, fields) => ({ users: (await batchGetUsers(call, fields)).map(toMessage) }),
  };
}
