import type { UserService } from '../../../gen/usher/v1/user_pb.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import { batchGetUsers } from '../../domain/users/batch-get-users.ts';
import { getApplicationUser } from '../../domain/users/get-application-user.ts';
import { listApplicationUsers } from '../../domain/users/list-application-users.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toMessage, toPage } from './to-message.ts';

export function createUserHandlers(pageTokens: PageTokens): ApplicationHandlers<typeof UserService> {
  return {
    getUser: async (call, fields) => ({ user: toMessage(await getApplicationUser(call, fields)) }),
    listUsers: async (call, fields) => toPage('users', await listApplicationUsers(call, pageTokens, fields), toMessage),
    batchGetUsers: async (call, fields) => ({ users: (await batchGetUsers(call, fields)).map(toMessage) }),
  };
}
