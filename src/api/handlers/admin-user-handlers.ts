import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import { createUser } from '../../domain/users/create-user.ts';
import { deactivateUser } from '../../domain/users/deactivate-user.ts';
import { deleteUser } from '../../domain/users/delete-user.ts';
import { eraseUser } from '../../domain/users/erase-user.ts';
import { getUser } from '../../domain/users/get-user.ts';
import { listUsers } from '../../domain/users/list-users.ts';
import { reactivateUser } from '../../domain/users/reactivate-user.ts';
import { USER_CHANGES, updateUser } from '../../domain/users/update-user.ts';
import type { User } from '../../domain/users/user.ts';
import { toChanges } from '../changes.ts';
import type { AdminHandlers } from './admin-handlers.ts';
import { toProfile } from './to-profile.ts';

export function createAdminUserHandlers(pageTokens: PageTokens) {
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
      return { user: toUser(await updateUser(call, toChanges(fields, USER_CHANGES))) };
    },

    async deactivateUser(fields, call) {
      return { user: toUser(await deactivateUser(call, fields)) };
    },

    async reactivateUser(fields, call) {
      return { user: toUser(await reactivateUser(call, fields)) };
    },

    async eraseUser(fields, call) {
      await eraseUser(call, fields);
      return {};
    },

    async deleteUser(fields, call) {
      await deleteUser(call, fields);
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
