import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { isLoginMethod } from '../../config/login-methods.ts';
import { NO_APPLICATION } from '../../database/schema/audit-schema.ts';
import { createApiKey } from '../../domain/api-keys/create-api-key.ts';
import { listApiKeys } from '../../domain/api-keys/list-api-keys.ts';
import { revokeApiKey } from '../../domain/api-keys/revoke-api-key.ts';
import { rotateApiKey } from '../../domain/api-keys/rotate-api-key.ts';
import type { ApplicationDetails } from '../../domain/applications/application.ts';
import { createApplication } from '../../domain/applications/create-application.ts';
import { deleteApplication } from '../../domain/applications/delete-application.ts';
import { logoPathOf } from '../../domain/applications/find-logo.ts';
import { getApplication } from '../../domain/applications/get-application.ts';
import { listApplications } from '../../domain/applications/list-applications.ts';
import { setApplicationLogo } from '../../domain/applications/set-application-logo.ts';
import { updateApplication } from '../../domain/applications/update-application.ts';
import { type AuditEvent, listAuditEvents } from '../../domain/audit/list-audit-events.ts';
import { nameRequiredAssurance } from '../../domain/core/assurance.ts';
import { endUserGrant } from '../../domain/grants/end-grants.ts';
import { listUserGrants } from '../../domain/grants/list-grants.ts';
import { addGroupMember } from '../../domain/groups/add-group-member.ts';
import { createGroup } from '../../domain/groups/create-group.ts';
import { deleteGroup } from '../../domain/groups/delete-group.ts';
import { getGroup } from '../../domain/groups/get-group.ts';
import { listApplicationGroups } from '../../domain/groups/list-application-groups.ts';
import { listGroupMembers } from '../../domain/groups/list-group-members.ts';
import { listGroups } from '../../domain/groups/list-groups.ts';
import { listUserGroups } from '../../domain/groups/list-user-groups.ts';
import { removeGroupMember } from '../../domain/groups/remove-group-member.ts';
import { setGroupAccess } from '../../domain/groups/set-group-access.ts';
import { updateGroup } from '../../domain/groups/update-group.ts';
import { deleteUserIdentity } from '../../domain/identities/delete-identity.ts';
import { listUserIdentities } from '../../domain/identities/list-identities.ts';
import { batchCreateUsers } from '../../domain/imports/batch-create-users.ts';
import { inviteUserAsOperator } from '../../domain/invitations/invite-user.ts';
import { deactivateUser, deleteUser, eraseUser, reactivateUser } from '../../domain/lifecycle/end-user.ts';
import { endUserSessions } from '../../domain/lifecycle/end-user-sessions.ts';
import { removeApplicationUser } from '../../domain/lifecycle/remove-application-user.ts';
import { cancelLogin } from '../../domain/login/cancel-login.ts';
import { completeLoginElsewhere } from '../../domain/login/complete-login.ts';
import { getLoginIntent } from '../../domain/login/get-login-intent.ts';
import { listSignInAttempts } from '../../domain/login/list-sign-in-attempts.ts';
import { deletePasskeyByOperator } from '../../domain/passkeys/delete-passkey.ts';
import { listPasskeys, type Passkey } from '../../domain/passkeys/list-passkeys.ts';
import { createRecoveryLink } from '../../domain/recovery/create-recovery-link.ts';
import { listRecoveryLinks } from '../../domain/recovery/list-recovery-links.ts';
import { revokeRecoveryLink } from '../../domain/recovery/revoke-recovery-link.ts';
import { getSecondFactor } from '../../domain/second-factor/find-second-factor.ts';
import { resetSecondFactor } from '../../domain/second-factor/remove-second-factor.ts';
import { listUserSessions } from '../../domain/sessions/list-user-sessions.ts';
import { addApplicationUser } from '../../domain/users/add-application-user.ts';
import { createUser } from '../../domain/users/create-user.ts';
import { getUser } from '../../domain/users/get-user.ts';
import { listUserApplications } from '../../domain/users/list-user-applications.ts';
import { listUsers } from '../../domain/users/list-users.ts';
import { updateUser } from '../../domain/users/update-user.ts';
import type { ServiceHandlers } from '../procedures.ts';
import type { ServiceParts } from '../service-parts.ts';
import { toGrant, toMessage, toPage } from './to-message.ts';

export function createAdminHandlers(parts: ServiceParts): ServiceHandlers<typeof AdminService> {
  const { apiKeys, cipher, codeKeys, liveSessions, pageTokens, passkeyHost: rpId, providers, tokens } = parts;
  const onSignedOut = (userId: string) => liveSessions.forgetUser(userId);
  const present = createApplicationPresenter(tokens.issuer);
  const isKnownMethod = (name: string) => isLoginMethod(name) || providers.issuers.has(name);
  const toApplication = ({ requiredAssurance, declaredByFile, ...application }: ApplicationDetails) => ({
    ...present(application, application.id),
    managedByFile: declaredByFile === true,
    requiredAssurance: nameRequiredAssurance(requiredAssurance),
  });
  return {
    async createApplication(call, fields) {
      const { application, apiKeyId, apiKey } = await createApplication(call, fields, isKnownMethod);
      return { application: toApplication(application), apiKeyId, apiKey };
    },
    getApplication: async (call, fields) => ({ application: toApplication(await getApplication(call, fields)) }),
    listApplications: async (call, fields) =>
      toPage('applications', await listApplications(call, pageTokens, fields), toApplication),
    async updateApplication(call, fields) {
      const application = await updateApplication(call, fields, isKnownMethod);
      apiKeys.clear();
      return { application: toApplication(application) };
    },
    setApplicationLogo: async (call, fields) => ({
      application: toApplication(await setApplicationLogo(call, fields)),
    }),
    async deleteApplication(call, fields) {
      await deleteApplication(call, fields);
      apiKeys.clear();
    },

    createApiKey: (call, fields) => createApiKey(call, fields),
    listApiKeys: async (call, fields) => toPage('apiKeys', await listApiKeys(call, pageTokens, fields), toManaged),
    async rotateApiKey(call, fields) {
      const created = await rotateApiKey(call, fields);
      apiKeys.clear();
      return created;
    },
    async revokeApiKey(call, fields) {
      await revokeApiKey(call, fields);
      apiKeys.clear();
    },

    ...createGroupHandlers(parts),

    async batchCreateUsers(call, fields) {
      const results = await batchCreateUsers(call, { cipher, issuers: providers.issuers, onSignedOut, rpId }, fields);
      return { results: results.map(toMessage) };
    },
    createUser: async (call, fields) => ({ user: toMessage(await createUser(call, fields)) }),
    getUser: async (call, fields) => ({ user: toMessage(await getUser(call, fields)) }),
    listUsers: async (call, fields) => toPage('users', await listUsers(call, pageTokens, fields), toMessage),
    updateUser: async (call, fields) => ({ user: toMessage(await updateUser(call, fields)) }),
    async deactivateUser(call, fields) {
      const user = await deactivateUser(call, fields);
      liveSessions.forgetUser(user.id);
      return { user: toMessage(user) };
    },
    reactivateUser: async (call, fields) => ({ user: toMessage(await reactivateUser(call, fields)) }),
    eraseUser: async (call, fields) => liveSessions.forgetUser(await eraseUser(call, fields)),
    deleteUser: async (call, fields) => liveSessions.forgetUser(await deleteUser(call, fields)),

    listUserSessions: async (call, fields) =>
      toPage('sessions', await listUserSessions(call, pageTokens, fields), toMessage),
    endUserSessions: async (call, fields) => liveSessions.forgetUser(await endUserSessions(call, fields)),
    listUserGrants: async (call, fields) => toPage('grants', await listUserGrants(call, pageTokens, fields), toGrant),
    async endUserGrant(call, fields) {
      const userId = await endUserGrant(call, fields);
      if (userId) liveSessions.forgetUser(userId);
    },
    listUserApplications: async (call, fields) =>
      toPage('applications', await listUserApplications(call, pageTokens, fields), toMessage),

    listUserIdentities: async (call, fields) => ({
      identities: (await listUserIdentities(call, fields)).map(toMessage),
    }),
    deleteUserIdentity: (call, fields) => deleteUserIdentity(call, fields),
    listPasskeys: async (call, fields) => ({ passkeys: (await listPasskeys(call, fields)).map(toPasskey) }),
    deletePasskey: (call, fields) => deletePasskeyByOperator(call, fields),
    async getSecondFactor(call, fields) {
      const found = await getSecondFactor(call, fields);
      return found ? { secondFactor: toMessage(found) } : {};
    },
    resetSecondFactor: async (call, fields) => liveSessions.forgetUser(await resetSecondFactor(call, fields)),

    async createRecoveryLink(call, fields) {
      const { recoveryLink, ...secrets } = await createRecoveryLink(call, parts, fields);
      return { recoveryLink: toMessage(recoveryLink), ...secrets };
    },
    listRecoveryLinks: async (call, fields) =>
      toPage('recoveryLinks', await listRecoveryLinks(call, pageTokens, fields), toMessage),
    revokeRecoveryLink,

    addApplicationUser,
    inviteUser: async (call, fields) => ({ invitation: toMessage(await inviteUserAsOperator(call, codeKeys, fields)) }),
    removeApplicationUser: async (call, fields) => liveSessions.forgetUser(await removeApplicationUser(call, fields)),

    async getLoginIntent(call, fields) {
      const { id, branding, status, ...intent } = await getLoginIntent(call, fields);
      const requiredAssurance = nameRequiredAssurance(intent.requiredAssurance);
      const shown = { ...intent, requiredAssurance, loginIntentId: id, state: status };
      return { loginIntent: { ...toMessage(shown), ...present(branding, intent.applicationId) } };
    },
    async completeLogin(call, fields) {
      const { authToken, redirectUrl } = await completeLoginElsewhere(
        call,
        { codes: { keys: codeKeys }, tokens },
        fields,
      );
      return { authToken, redirectUrl };
    },
    cancelLogin: (call, fields) => cancelLogin(call, tokens, fields),

    listAuditEvents: async (call, fields) =>
      toPage('auditEvents', await listAuditEvents(call, pageTokens, fields), toAuditEvent),
    listSignInAttempts: async (call, fields) =>
      toPage('signInAttempts', await listSignInAttempts(call, pageTokens, fields), ({ id, ...attempt }) => ({
        ...toMessage(attempt),
        signInAttemptId: id,
      })),
  };
}

function toAuditEvent({ id, applicationId, ...event }: AuditEvent) {
  return { ...toMessage(event), auditEventId: id, ...(applicationId !== NO_APPLICATION && { applicationId }) };
}

/** Converts a group or a key, which a file may have declared. */
function toManaged<Row extends { readonly declaredByFile: boolean | null }>({ declaredByFile, ...row }: Row) {
  return { ...toMessage(row), managedByFile: declaredByFile === true };
}

function toPasskey({ id, isBackupEligible, isBackedUp, isUserVerified, ...passkey }: Passkey) {
  const { credentialId: _, ...fields } = toMessage(passkey);
  const flags = { backupEligible: isBackupEligible, backedUp: isBackedUp, userVerified: isUserVerified };
  return { ...fields, ...flags, passkeyId: id };
}

interface Logos {
  readonly logoDigest: Buffer | null;
  readonly darkLogoDigest: Buffer | null;
  readonly logoSize: unknown;
  readonly darkLogoSize: unknown;
}

/** Returns a function that converts an application, or its branding, to a message with the URLs of its logos. */
function createApplicationPresenter(publicUrl: string) {
  const base = publicUrl.replace(/\/$/, '');
  return <Row extends Logos>(row: Row, applicationId: string) => {
    const { logoDigest, darkLogoDigest, logoSize: _, darkLogoSize: __, ...others } = row;
    const uriOf = (theme: 'light' | 'dark', digest: Buffer | null) =>
      digest && base + logoPathOf(applicationId, theme, digest);
    const logos = { logoUri: uriOf('light', logoDigest), darkLogoUri: uriOf('dark', darkLogoDigest) };
    return { ...toMessage(others), ...toMessage(logos) };
  };
}

/** Returns the handlers of AdminService that are about groups. */
function createGroupHandlers({ liveSessions, pageTokens }: Pick<ServiceParts, 'liveSessions' | 'pageTokens'>) {
  const forget = (userIds: Iterable<string>) => {
    for (const userId of userIds) liveSessions.forgetUser(userId);
  };
  return {
    createGroup: async (call, fields) => ({ group: toManaged(await createGroup(call, fields)) }),
    getGroup: async (call, fields) => ({ group: toManaged(await getGroup(call, fields)) }),
    listGroups: async (call, fields) => toPage('groups', await listGroups(call, pageTokens, fields), toManaged),
    updateGroup: async (call, fields) => ({ group: toManaged(await updateGroup(call, fields)) }),
    deleteGroup: async (call, fields) => forget(await deleteGroup(call, fields)),
    addGroupMember,
    removeGroupMember: async (call, fields) => liveSessions.forgetUser(await removeGroupMember(call, fields)),
    listGroupMembers: async (call, fields) =>
      toPage('members', await listGroupMembers(call, pageTokens, fields), toMessage),
    listUserGroups: async (call, fields) => toPage('groups', await listUserGroups(call, pageTokens, fields), toMessage),
    setGroupAccess: async (call, fields) => forget(await setGroupAccess(call, fields)),
    listApplicationGroups: async (call, fields) => ({
      groups: (await listApplicationGroups(call, fields)).map(toMessage),
    }),
  } satisfies Partial<ServiceHandlers<typeof AdminService>>;
}
