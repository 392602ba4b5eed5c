/** Every statement of invitations, for tests that go over all statements. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ApplicationCall, Call } from '../../src/domain/core/call.ts';
import { expireInvitations } from '../../src/domain/invitations/expire-invitations.ts';
import { inviteUserAsOperator } from '../../src/domain/invitations/invite-user.ts';
import { revokeInvitation } from '../../src/domain/invitations/revoke-invitation.ts';
import { acceptInvitation, noteEntryOnBehalf } from '../../src/domain/login/accept-invitation.ts';
import type { LoginCodeKeys } from '../../src/domain/login/login-code.ts';
import { adminClient, clientsOf, createTestUser, logIn, type Tenant, type TestService } from './service.ts';

/** Invites people who sign in, who are revoked, and whose invitations expire. */
export async function useInvitations(
  given: ApplicationCall,
  keys: LoginCodeKeys,
  { service, tenant }: { service: TestService; tenant: Tenant },
): Promise<void> {
  const call: ApplicationCall = { ...given, notices: { toLanguage: () => 'en', wake: () => {} } };
  const { group } = await adminClient(service).createGroup({ name: `invited-${randomUUID()}` });
  const invite = (email: string) =>
    inviteUserAsOperator(call, keys, { applicationId: tenant.id, email, groupIds: [group?.groupId] });
  const [member, late] = [await createTestUser(service), await createTestUser(service)];
  await invite(member.email);
  await noteEntryOnBehalf(call, { applicationId: tenant.id, userId: member.id });
  await acceptInvitation(call, { applicationId: tenant.id, userId: member.id });
  const { invitationId } = await invite(`${randomUUID()}@example.com`);
  await revokeInvitation(call, { invitationId });
  await invite(`${randomUUID()}@example.com`);
  await invite(late.email);
  const authToken = await logIn(service, tenant, late);
  await clientsOf(service, tenant).auth.exchangeToken({ authToken });
  await service.database.sql`update invitations set accepted_at = null where user_id = ${late.id}`;
  const after: Call = { ...call, now: new Date(call.now.getTime() + 31 * 24 * 60 * 60_000) };
  while (await expireInvitations(after));
  const left = await service.database.sql`
    select from invitations where application_id = ${tenant.id} and accepted_at is null`;
  expect(left).toEqual([]);
}
