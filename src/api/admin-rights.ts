/** The RPCs of AdminService, and the rights of admin keys that open them. */
import type { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import type { AdminRight } from '../config/admin-rights.ts';

type Right = Exclude<AdminRight, 'all'>;

/** The rights that open an RPC. `all` opens every RPC. A new RPC needs a row. */
export const OPENED_BY: Readonly<Record<keyof typeof AdminService.method, readonly Right[]>> = {
  getLoginIntent: ['login-page'],
  completeLogin: ['login-page'],
  cancelLogin: ['login-page'],

  getUser: ['login-page', 'support', 'read'],
  listUsers: ['support', 'read'],
  listPasskeys: ['support', 'read'],
  listUserIdentities: ['support', 'read'],
  listUserSessions: ['support', 'read'],
  listUserApplications: ['support', 'read'],
  listUserGrants: ['support', 'read'],
  endUserSessions: ['support'],
  endUserGrant: ['support'],
  deactivateUser: ['support'],
  reactivateUser: ['support'],
  // With `all` only: whoever can set the e-mail address of a user can make the user an operator of the console.
  createUser: [],
  batchCreateUsers: [],
  updateUser: [],
  deletePasskey: [],
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
};
