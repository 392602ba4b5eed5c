/** Checks the admin key of a request before its body is read, on every protocol. */
import type { DescMethod } from '@bufbuild/protobuf';
import type { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import type { AdminRight } from '../config/admin-rights.ts';
import type { ApiKeys } from '../domain/api-keys/api-keys.ts';
import { isApiKey } from '../domain/applications/api-key.ts';
import { hasReason, ServiceError } from '../domain/core/errors.ts';
import type { AdminKeys } from '../domain/operators/admin-keys.ts';
import { headerOf } from '../http/exchange.ts';
import type { RequestContext } from '../http/http-context.ts';

interface KeyHolders {
  readonly adminKeys: AdminKeys;
  readonly apiKeys: ApiKeys;
}

/** Returns the application of the caller's API key. @throws ServiceError `Invalid API key`, whose detail says what came instead */
export async function requireApplication(
  { adminKeys, apiKeys }: KeyHolders,
  context: RequestContext,
  options?: Parameters<ApiKeys['authenticate']>[1],
): ReturnType<ApiKeys['authenticate']> {
  const given = headerOf(context, 'x-api-key');
  return apiKeys.authenticate(given, options).catch((error: unknown) => {
    if (!hasReason(error, 'INVALID_API_KEY')) throw error;
    if (given === undefined)
      throw new ServiceError('INVALID_API_KEY', { detail: describeMissing(context, 'x-admin-key') });
    const detail = adminKeys.find(given)
      ? 'an admin key'
      : isApiKey(given)
        ? 'unknown, revoked or expired'
        : 'malformed';
    throw new ServiceError('INVALID_API_KEY', { detail });
  });
}

/** Says what a request without a key has instead: no text that the caller has chosen. */
function describeMissing(context: RequestContext, other: 'x-admin-key' | 'x-api-key'): string {
  const found = ['authorization', other].filter((name) => headerOf(context, name) !== undefined);
  return found.length === 0 ? 'no key' : `no key, but ${found.join(' and ')}`;
}

/** Returns the name of the caller's admin key. @throws ServiceError `Invalid admin key`, `Missing right` */
export function requireAdmin(
  { adminKeys }: { readonly adminKeys: AdminKeys },
  context: RequestContext,
  { localName }: Pick<DescMethod, 'localName'>,
): string {
  // Only AdminService takes admin keys, and OPENED_BY has each of its RPCs.
  return requireRight({ adminKeys }, context, OPENED_BY[localName as keyof typeof OPENED_BY]);
}

/** Returns the name of an admin key that has one of the rights. @throws ServiceError `Invalid admin key`, `Missing right` */
export function requireRight(
  { adminKeys }: { readonly adminKeys: AdminKeys },
  context: RequestContext,
  openedBy: readonly string[],
): string {
  const given = headerOf(context, 'x-admin-key');
  const holder = given === undefined ? undefined : adminKeys.find(given);
  if (!holder) {
    const sent = given !== undefined && (isApiKey(given) ? 'an API key' : 'unknown');
    throw new ServiceError('INVALID_ADMIN_KEY', { detail: sent || describeMissing(context, 'x-api-key') });
  }
  const { name, rights } = holder;
  const isAllowed = rights.some((right) => right === 'all' || openedBy.includes(right));
  if (!isAllowed) throw new ServiceError('MISSING_RIGHT', { detail: `admin key ${name}` });
  return name;
}

/** The rights of admin keys that open an RPC of AdminService. `all` opens every RPC. A new RPC needs a row. */
export const OPENED_BY: Readonly<Record<keyof typeof AdminService.method, readonly Exclude<AdminRight, 'all'>[]>> = {
  getLoginIntent: ['login-page'],
  completeLogin: ['login-page'],
  cancelLogin: ['login-page'],

  getUser: ['login-page', 'support', 'recover', 'read'],
  listUsers: ['support', 'recover', 'read'],
  listPasskeys: ['support', 'recover', 'read'],
  getSecondFactor: ['support', 'read'],
  listUserIdentities: ['support', 'read'],
  listUserSessions: ['support', 'read'],
  listUserApplications: ['support', 'read'],
  listUserGrants: ['support', 'read'],
  endUserSessions: ['support'],
  endUserGrant: ['support'],
  deactivateUser: ['support'],
  reactivateUser: ['support'],
  // Not with `support`: whoever may do this may take over an account.
  createRecoveryLink: ['recover'],
  listRecoveryLinks: ['recover', 'read'],
  revokeRecoveryLink: ['recover'],
  deletePasskey: ['recover'],
  resetSecondFactor: ['recover'],
  // With `all` only: whoever can set the e-mail address of a user can make the user an operator of the console.
  createUser: [],
  batchCreateUsers: [],
  updateUser: [],
  deleteUserIdentity: [],
  eraseUser: [],
  deleteUser: [],

  getApplication: ['applications', 'support', 'read'],
  listApplications: ['applications', 'support', 'read'],
  listApiKeys: ['applications', 'read'],
  createApplication: ['applications'],
  updateApplication: ['applications'],
  setApplicationLogo: ['applications'],
  deleteApplication: ['applications'],
  createApiKey: ['applications'],
  rotateApiKey: ['applications'],
  revokeApiKey: ['applications'],
  addApplicationUser: ['applications'],
  // The invited user signs in by a code to the address, so unlike `createUser` it gives away no account.
  inviteUser: ['applications'],
  removeApplicationUser: ['applications'],

  getGroup: ['applications', 'support', 'read'],
  listGroups: ['applications', 'support', 'read'],
  listApplicationGroups: ['applications', 'support', 'read'],
  // They show users.
  listGroupMembers: ['support', 'read'],
  listUserGroups: ['support', 'read'],
  createGroup: ['applications'],
  updateGroup: ['applications'],
  deleteGroup: ['applications'],
  addGroupMember: ['applications'],
  removeGroupMember: ['applications'],
  setGroupAccess: ['applications'],

  listAuditEvents: ['support', 'read'],
  listSignInAttempts: ['support', 'read'],
};
