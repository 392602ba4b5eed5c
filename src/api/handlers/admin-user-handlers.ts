import { timestampFromDate } from '@bufbuild/protobuf/wkt';
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
import type { User } from '../../domain/users/user.ts';
import type { AdminHandlers } from './admin-handlers.ts';
import { toProfile } from './to-profile.ts';

export function createAdminUserHandlers(pageTokens: PageTokens, liveSessions: LiveSessions) {
  return {
    async createUser(fields, call) {
      return { user: toUser(await createUser(call, fields)) };
    },

    async getUser(fields, call) {
      return { user: toUser(await getUser(call, fields)) };
    },

    async listUsers(fields, call) {
      const { rows, nextPageToken } = await listUsers(call, pageTokens, fields);
      return { users: rows.map(toUser), nextPageToken };
    },

    async updateUser(fields, call) {
      return { user: toUser(await updateUser(call, fields)) };
    },

    async deactivateUser(fields, call) {
      const user = await deactivateUser(call, fields);
      await liveSessions.forgetUser(user.id);
      return { user: toUser(user) };
    },

    async reactivateUser(fields, call) {
      return { user: toUser(await reactivateUser(call, fields)) };
    },

    async eraseUser(fields, call) {
      await liveSessions.forgetUser(await eraseUser(call, fields));
      return {};
    },

    async deleteUser(fields, call) {
      await liveSessions.forgetUser(await deleteUser(call, fields));
      return {};
    },
  } satisfies Partial<AdminHandlers>;
}

function toUser({ id, createdAt, deactivatedAt, ...profile }: User) {
  return {
    id,
    ...toProfile(profile),
    createdAt: timestampFromDate(createdAt),
    ...(deactivatedAt && { deactivatedAt: timestampFromDate(deactivatedAt) }),
  };
}
