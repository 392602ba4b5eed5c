import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { UserService } from '../../../gen/usher/v1/user_pb.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { ApplicationUser } from '../../domain/users/application-user.ts';
import { getApplicationUser } from '../../domain/users/get-application-user.ts';
import { listApplicationUsers } from '../../domain/users/list-application-users.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toProfile } from './to-profile.ts';

export function createUserHandlers(pageTokens: PageTokens): ApplicationHandlers<typeof UserService> {
  return {
    async getUser(fields, call) {
      return { user: toUser(await getApplicationUser(call, fields)) };
    },

    async listUsers(fields, call) {
      const { rows, nextPageToken } = await listApplicationUsers(call, pageTokens, fields);
      return { users: rows.map(toUser), nextPageToken };
    },
  };
}

function toUser({ id, isActive, firstSignedInAt, ...profile }: ApplicationUser) {
  return { id, ...toProfile(profile), isActive, firstSignedInAt: timestampFromDate(firstSignedInAt) };
}
