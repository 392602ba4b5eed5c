import { adminClient, clientsOf, type Tenant, type TestUser } from './service.ts';

interface SignedIn {
  readonly tenant: Tenant;
  readonly user: Pick<TestUser, 'id'>;
}

/** Returns the calls that end the sessions of a user, whichever they are, by name. */
export function sessionEndingsOf(service: { url: string }): Record<string, (signedIn: SignedIn) => Promise<unknown>> {
  const admin = adminClient(service);
  return {
    RevokeUserSessions: ({ tenant, user: { id: userId } }) =>
      clientsOf(service, tenant).sessions.revokeUserSessions({ userId }),
    RemoveApplicationUser: ({ tenant: { id: applicationId }, user: { id: userId } }) =>
      admin.removeApplicationUser({ applicationId, userId }),
    EndUserSessions: ({ user: { id: userId } }) => admin.endUserSessions({ userId }),
    DeactivateUser: ({ user: { id: userId } }) => admin.deactivateUser({ userId }),
    DeleteUser: ({ user: { id: userId } }) => admin.deleteUser({ userId }),
    EraseUser: ({ user: { id: userId } }) => admin.eraseUser({ userId }),
  };
}
