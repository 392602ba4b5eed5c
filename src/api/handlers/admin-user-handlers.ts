import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { LiveSessions } from '../../domain/sessions/live-sessions.ts';
import { createUser } from '../../domain/users/create-user.ts';
import { deactivateUser } from '../../domain/users/deactivate-user.ts';
import { deleteUser } from '../../domain/users/delete-user.ts';
import { eraseUser } from '../../domain/users/erase-user.ts';
import { getUser } from '../../domain/users/get-user.ts';
import { listUsers } from '../../domain/users/list-users.ts';
import { reactivateUser } from '../../domain/users/reactivate-user.ts';
import { updateUser } from '../../domain/users/update-user.ts';
import type { OpenHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

export function createAdminUserHandlers(pageTokens: PageTokens, liveSessions: LiveSessions) {
  return {
    async createUser(fields, call) {
      return { user: toMessage(await createUser(call, fields)) };
    },

    async getUser(fields, call) {
      return { user: toMessage(await getUser(call, fields)) };
    },

    async listUsers(fields, call) {
      const { rows, nextPageToken } = await listUsers(call, pageTokens, fields);
      return { users: rows.map(toMessage), nextPageToken };
    },

    async updateUser(fields, call) {
      return { user: toMessage(await updateUser(call, fields)) };
    },

    async deactivateUser(fields, call) {
      const user = await deactivateUser(call, fields);
      await liveSessions.forgetUser(user.id);
      return { user: toMessage(user) };
    },

    async reactivateUser(fields, call) {
      return { user: toMessage(await reactivateUser(call, fields)) };
    },

    async eraseUser(fields, call) {
      await liveSessions.forgetUser(await eraseUser(call, fields));
      return {};
    },

    async deleteUser(fields, call) {
      await liveSessions.forgetUser(await deleteUser(call, fields));
      return {};
    },
  } satisfies Partial<OpenHandlers<typeof AdminService>>;
}
