/** The process that revokes something refuses it from then on, whatever it has read before. Other replicas: sessions.test.ts. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../support/operations.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  REDIRECT_URI,
  type Tenant,
  type TestUser,
} from '../support/service.ts';
import { sessionEndingsOf } from '../support/session-endings.ts';
import { openContractFixture } from './contract-fixture.ts';

const { service } = await openContractFixture();
const admin = adminClient(service);

interface SignedIn {
  readonly tenant: Tenant;
  readonly user: TestUser;
  readonly sessionId: string;
}

/** What ends a session, as far as modules answer it. */
const OF_SESSIONS = withoutUnanswered({
  RevokeSession: ({ tenant, sessionId }) => clientsOf(service, tenant).sessions.revokeSession({ sessionId }),
  ...sessionEndingsOf(service),
  RemoveGroupMember: (at) => afterEntry(at, (groupId) => admin.removeGroupMember({ groupId, userId: at.user.id })),
  SetGroupAccess: (at) => afterEntry(at, (groupId) => admin.setGroupAccess({ groupId, applicationId: at.tenant.id })),
  BatchCreateUsers: ({ user: { email } }) =>
    admin.batchCreateUsers({ users: [{ email, isActive: false }], onConflict: 'update' }),
  ResetSecondFactor: ({ user }) => admin.resetSecondFactor({ userId: user.id }),
  DeleteGroup: (at) => afterEntry(at, (groupId) => admin.deleteGroup({ groupId })),
});

function withoutUnanswered(endings: Readonly<Record<string, (at: SignedIn) => Promise<unknown>>>) {
  return Object.fromEntries(
    Object.entries(endings).filter(([name]) => OPERATIONS.some(({ method }) => method.name === name)),
  );
}

/** Ends the access of a user who may enter the application only as a member of a group. */
async function afterEntry({ tenant, user }: SignedIn, end: (groupId: string) => Promise<unknown>): Promise<void> {
  const applicationId = tenant.id;
  const { groupId } = (await admin.createGroup({ name: randomUUID() })).group ?? { groupId: '' };
  await admin.addGroupMember({ groupId, userId: user.id });
  // The group lets its members into another application, too.
  const { id: otherId } = await createTenant(service, { restrictAccess: true });
  for (const id of [applicationId, otherId])
    await admin.setGroupAccess({ groupId, applicationId: id, allowsAccess: true });
  await admin.updateApplication({ applicationId, restrictAccess: true });
  const { sessions } = clientsOf(service, tenant);
  expect((await sessions.listSessions({ userId: user.id })).sessions).toHaveLength(1);
  await end(groupId);
}

/** What ends an API key. */
const OF_KEYS: Readonly<Record<string, (tenant: Tenant) => Promise<unknown>>> = {
  RevokeApiKey: ({ apiKeyId }) => admin.revokeApiKey({ apiKeyId }),
  RotateApiKey: ({ apiKeyId }) => admin.rotateApiKey({ apiKeyId, overlapSeconds: 0 }),
  DeleteApplication: ({ id }) => admin.deleteApplication({ applicationId: id }),
};

/** What changes something else that a process remembers. */
const OF_APPLICATIONS = ['UpdateApplication'];
/** What ends a grant of OpenID Connect: test/modules/oidc. */
const OF_GRANTS = ['EndGrant', 'EndUserGrant'];
/** What no process remembers. */
const UNREMEMBERED =
  /^(Create|Add|BatchGet|BatchPut|Get|Introspect|Invite|List|Check|Renew|Exchange|Generate|Send|Redeliver|Complete|Cancel)|(Attendees|Event|Webhook|CheckIn|SigningKey|Logo|Passkey|Identity|Invitation|RecoveryLink)$|^(Update|Reactivate)User$|^UpdateGroup$/;

it('every operation that ends something is tested here', () => {
  const others = OPERATIONS.map(({ method }) => method.name).filter((name) => !UNREMEMBERED.test(name));
  const tested = [...Object.keys(OF_SESSIONS), ...Object.keys(OF_KEYS), ...OF_APPLICATIONS, ...OF_GRANTS];
  expect(others.toSorted()).toEqual(tested.toSorted());
});

describe.each(Object.entries(OF_SESSIONS))('After %s', (_, revoke) => {
  it('a session is not active any more, whatever staleness the caller accepts', async () => {
    const [tenant, user] = [await createTenant(service), await createTestUser(service)];
    const sessionId = await beginSession(service, tenant, user);
    const { sessions } = clientsOf(service, tenant);
    const isActive = async () => (await sessions.checkSession({ sessionId, maxStalenessMs: 5_000 })).active;
    for (let call = 0; call < 3; call++) expect(await isActive()).toBe(true);
    const { until: since } = await sessions.listRevocations({});
    await revoke({ tenant, user, sessionId });
    for (let call = 0; call < 3; call++) expect(await isActive()).toBe(false);
    const { revocations } = await sessions.listRevocations({ since });
    expect(revocations.some(({ subject }) => subject.value === user.id || subject.case === 'everyUser')).toBe(true);
  });
});

describe.each(Object.entries(OF_KEYS))('After %s', (_, revoke) => {
  it('the API key is refused', async () => {
    const [tenant, kept] = [await createTenant(service), await createTenant(service)];
    const use = ({ apiKey }: Tenant) => clientsOf(service, { apiKey }).events.listEvents({});
    for (const each of [tenant, kept, tenant]) await use(each);
    await revoke(tenant);
    for (let call = 0; call < 3; call++) await expect(use(tenant)).rejects.toThrow('Invalid API key');
    await use(kept);
  });
});

it('After UpdateApplication a redirect URI that was removed is refused, and a new one accepted', async () => {
  const tenant = await createTenant(service);
  const { auth } = clientsOf(service, tenant);
  const [clientId, added] = [tenant.clientId, 'https://app.test/added'];
  await auth.generateAuthUrl({ clientId, redirectUri: REDIRECT_URI, state: 'state' });
  await admin.updateApplication({ applicationId: tenant.id, redirectUris: [added] });
  await auth.generateAuthUrl({ clientId, redirectUri: added, state: 'state' });
  const refused = auth.generateAuthUrl({ clientId, redirectUri: REDIRECT_URI, state: 'state' });
  await expect(refused).rejects.toThrow('Invalid redirect URI');
});
