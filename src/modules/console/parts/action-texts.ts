/** What the actions of the audit log are in plain words, and what kind of resource each changes. */

import { ATTEMPT_PREFIX } from '../../../database/schema/audit-schema.ts';
import { ATTEMPT_TEXTS } from './attempt-texts.ts';

/** What the IDs of an audit event may name. */
export type Named = 'user' | 'application' | 'key' | 'webhook' | 'group';

/** `passkey` and `text` have no name: the log shows their ID as it is. */
type ResourceKind = Named | 'passkey' | 'text' | 'any';

type ActionText = readonly [text: string, kind: ResourceKind];

/** Returns rows whose actions begin with `prefix` and change resources of one kind. */
function rowsOf(prefix: string, kind: ResourceKind, texts: Readonly<Record<string, string>>): [string, ActionText][] {
  return Object.entries(texts).map(([name, text]) => [prefix + name, [text, kind]]);
}

export const ACTION_TEXTS: ReadonlyMap<string, ActionText> = new Map([
  ...rowsOf('AdminService/', 'application', {
    CreateApplication: 'Created an application',
    UpdateApplication: 'Changed an application',
    SetApplicationLogo: 'Changed a logo',
    DeleteApplication: 'Deleted an application',
  }),
  ...rowsOf('AdminService/', 'key', {
    CreateApiKey: 'Created a key',
    RotateApiKey: 'Rotated a key',
    RevokeApiKey: 'Revoked a key',
  }),
  ...rowsOf('', 'key', { DeclareApiKey: 'Changed a declared key' }),
  ...rowsOf('AdminService/', 'user', {
    CreateUser: 'Created a user',
    BatchCreateUsers: 'Imported a user',
    UpdateUser: 'Changed a user',
    DeactivateUser: 'Deactivated a user',
    ReactivateUser: 'Reactivated a user',
    DeleteUser: 'Deleted a user',
    EraseUser: 'Erased a user',
    DeleteUserIdentity: 'Unlinked a provider',
    AddApplicationUser: 'Added a user to an application',
    InviteUser: 'Invited a user',
    RemoveApplicationUser: 'Removed a user from an application',
    AddGroupMember: 'Added a user to a group',
    RemoveGroupMember: 'Removed a user from a group',
    CompleteLogin: 'Completed a sign-in',
    CancelLogin: 'Cancelled a login',
    EndUserSessions: 'Ended every session',
    EndUserGrant: 'Ended a grant',
    CreateRecoveryLink: 'Made a recovery link',
    RevokeRecoveryLink: 'Revoked a recovery link',
    ResetSecondFactor: 'Removed a second factor',
  }),
  ...rowsOf('AdminService/', 'group', {
    CreateGroup: 'Created a group',
    UpdateGroup: 'Changed a group',
    DeleteGroup: 'Deleted a group',
    SetGroupAccess: 'Changed the access of a group',
  }),
  ...rowsOf('AdminService/', 'passkey', { DeletePasskey: 'Deleted a passkey' }),
  ...rowsOf('AuthService/', 'user', { GenerateAuthUrl: 'Started a login', ExchangeToken: 'Began a session' }),
  ...rowsOf('SessionService/', 'user', {
    RenewSession: 'Renewed a session',
    RevokeSession: 'Ended a session',
    RevokeUserSessions: 'Ended the sessions in an application',
    EndGrant: 'Ended a grant',
  }),
  ...rowsOf('WebhookService/', 'webhook', {
    CreateWebhook: 'Created a webhook',
    UpdateWebhook: 'Changed a webhook',
    DeleteWebhook: 'Deleted a webhook',
    RotateSigningKey: 'Rotated a signing key',
    SendTestMessage: 'Sent a test message',
    Redeliver: 'Redelivered a message',
    RedeliverFailed: 'Redelivered what failed',
  }),
  ...rowsOf('UserService/', 'user', { InviteUser: 'Invited a user', RevokeInvitation: 'Revoked an invitation' }),
  ...rowsOf('', 'user', {
    AcceptInvitation: 'Accepted an invitation',
    EndClient: 'Ended a client',
    ExpireInvitation: 'Withdrew an expired invitation',
  }),
  ...rowsOf('RecoveryService/', 'user', {
    Use: 'Got the account back',
    Stop: 'Stopped a recovery',
    Fail: 'Ended a recovery link by wrong codes',
  }),
  ...rowsOf('', 'webhook', { DisableWebhook: 'Disabled a webhook' }),
  ...rowsOf('EventService/', 'text', {
    CreateEvent: 'Created an event',
    UpdateEvent: 'Changed an event',
    DeleteEvent: 'Deleted an event',
    BatchPutAttendees: 'Changed the list of attendees',
    DeleteAttendees: 'Removed people from the list of attendees',
    CheckIn: 'Checked somebody in',
    BatchCheckIn: 'Uploaded check-ins',
    UndoCheckIn: 'Undid a check-in',
  }),
  ...rowsOf('', 'any', { demo: 'Set up the demo' }),
  ...rowsOf(
    ATTEMPT_PREFIX,
    'user',
    Object.fromEntries(Object.entries(ATTEMPT_TEXTS).map(([reason, { event }]) => [reason, event])),
  ),
  ...rowsOf('POST /login/', 'user', {
    code: 'Signed in by code',
    wallet: 'Signed in by wallet',
    passkey: 'Signed in by passkey',
    continue: 'Signed in as before',
    name: 'Gave a name',
    forget: 'Signed out of this browser',
    'second-factor': 'Signed in with a second factor',
    'second-factor/recovery': 'Signed in with a recovery code',
    'second-factor/new': 'Set up an authenticator app',
  }),
  ...rowsOf('POST /login/', 'passkey', {
    'passkey/new': 'Added a passkey',
    'passkeys/name': 'Renamed a passkey',
    'passkeys/delete': 'Deleted a passkey',
  }),
  ...rowsOf('', 'user', {
    'GET /login/callback/*': 'Signed in by a provider',
    'GET /account/return': 'Opened the account page',
    'GET /oidc/authorize': 'Signed in as before',
    'POST /oidc/authorize': 'Signed in as before',
    'POST /oidc/consent': 'Decided about a client',
    'POST /oidc/token': 'Got tokens by OpenID Connect',
    'POST /oidc/revoke': 'Revoked a token',
    'POST /device/request': 'Denied a device',
    'POST /device/approve': 'Let a device in, or denied it',
    'GET /oidc/logout': 'Signed out by OpenID Connect',
    'POST /oidc/logout': 'Signed out by OpenID Connect',
  }),
  ...rowsOf('POST /account/', 'user', {
    logout: 'Left the account page',
    name: 'Changed the name',
    email: 'Asked for another e-mail address',
    'email/code': 'Changed the e-mail address',
    undo: 'Undid a change of the e-mail address',
    wallet: 'Removed the wallet',
    'wallet/new': 'Added a wallet',
    'providers/unlink': 'Unlinked a provider',
    'sessions/end': 'Ended a session',
    'sessions/end-all': 'Signed out everywhere',
    delete: 'Deleted the account',
    'second-factor/codes': 'Made recovery codes',
    'second-factor/remove': 'Removed the second factor',
    'second-factor/added': 'Removed a new second factor',
    'clients/end': 'Ended a client',
  }),
  ...rowsOf('POST /account/', 'passkey', { passkey: 'Deleted a new passkey' }),
]);

/** Returns what the action is in plain words: that of another version by the words of its name. */
export function describeAction(action: string): ActionText {
  const name = action.split('/').at(-1) ?? action;
  const words = name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  return ACTION_TEXTS.get(action) ?? [words.charAt(0).toUpperCase() + words.slice(1), 'any'];
}
