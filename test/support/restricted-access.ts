/** Applications that only some users may enter, for tests. */
import {
  adminClient,
  createLoginIntent,
  createTestGroup,
  createTestUser,
  type Tenant,
  type TestUser,
} from './service.ts';

/** How an operator lets a user into a restricted application, or not at all. */
export const STANDINGS = ['added', 'in a group', 'neither'] as const;
export type Standing = (typeof STANDINGS)[number];

/** Restricts an application, with a group that has access and another that it only sees. */
export async function restrict(service: { url: string }, applicationId: string) {
  const admin = adminClient(service);
  await admin.updateApplication({ applicationId, restrictAccess: true });
  const { groupId } = await createTestGroup(service);
  const { groupId: seenId } = await createTestGroup(service);
  await admin.setGroupAccess({ groupId, applicationId, allowsAccess: true });
  await admin.setGroupAccess({ groupId: seenId, applicationId, inClaim: true });
  return {
    groupId,
    /** Lets the user in as the standing says. Everybody is in a group without access. */
    async give(userId: string, standing: Standing): Promise<void> {
      await admin.addGroupMember({ groupId: seenId, userId });
      if (standing === 'added') await admin.addApplicationUser({ applicationId, userId });
      if (standing === 'in a group') await admin.addGroupMember({ groupId, userId });
    },
    /** Takes that away again. */
    async take(userId: string, standing: Standing): Promise<void> {
      if (standing === 'added') await admin.removeApplicationUser({ applicationId, userId });
      if (standing === 'in a group') await admin.removeGroupMember({ groupId, userId });
    },
    async createUser(standing: Standing, fields: Parameters<typeof createTestUser>[1] = {}): Promise<TestUser> {
      const user = await createTestUser(service, fields);
      await this.give(user.id, standing);
      return user;
    },
  };
}

/** Refuses the sign-in of a user, by default a new one, because the application demands more. Returns the user's ID. */
export async function refuseSignIn(
  service: { url: string },
  tenant: Tenant,
  user?: { readonly id: string },
): Promise<string> {
  const admin = adminClient(service);
  const { id: userId } = user ?? (await createTestUser(service));
  const loginIntentId = await createLoginIntent(service, tenant, { requiredAssurance: 'TWO_FACTORS' });
  await admin.completeLogin({ loginIntentId, userId }).then(
    () => Promise.reject(new Error('The sign-in was not refused')),
    () => undefined,
  );
  return userId;
}
