import type { UserService } from '../../../gen/usher/v1/user_pb.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import { getApplicationUser } from '../../domain/users/get-application-user.ts';
import { listApplicationUsers } from '../../domain/users/list-application-users.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

export function createUserHandlers(pageTokens: PageTokens): ApplicationHandlers<typeof UserService> {
  return {
    getUser: async (fields, call) => ({ user: toMessage(await getApplicationUser(call, fields)) }),
    async listUsers(fields, call) {
      const { rows, nextPageToken } = await listApplicationUsers(call, pageTokens, fields);
      return { users: rows.map(toMessage), nextPageToken };
    },
  };
}
