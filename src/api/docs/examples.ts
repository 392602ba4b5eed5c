/** An example of every operation. The API reference shows it, and tests send it. */
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';

export interface Example {
  readonly required?: JsonObject;
  readonly optional?: JsonObject;
}

const PAGE: Example = { optional: { pageSize: 20 } };
const APPLICATION: Example = { required: { applicationId: '$APPLICATION_ID' } };
const APPLICATION_USER: Example = { required: { applicationId: '$APPLICATION_ID', userId: '$USER_ID' } };
const USER: Example = { required: { userId: '$USER_ID' } };
const INVITED = { name: 'Grace Hopper', locale: 'de', expiresInDays: 14 };
const GROUP: Example = { required: { groupId: '$GROUP_ID' } };
const GROUP_MEMBER: Example = { required: { groupId: '$GROUP_ID', userId: '$USER_ID' } };
const SESSION: Example = { required: { sessionId: '$SESSION_ID' } };
const LOGIN: Example = { required: { loginIntentId: '$LOGIN_INTENT_ID' } };
const WEBHOOK: Example = { required: { webhookId: '$WEBHOOK_ID' } };
const DELIVERY: Example = { required: { webhookId: '$WEBHOOK_ID', messageId: '$MESSAGE_ID' } };
const BRANDING = {
  accentColor: '#0f5e5a',
  termsUri: 'https://app.example.com/terms',
  privacyUri: 'https://app.example.com/privacy',
  supportUri: 'mailto:help@example.com',
  initiateLoginUri: 'https://app.example.com/login',
  loginMethods: ['email', 'passkey'],
};
const EVENT: Example = { required: { eventId: '$EVENT_ID' } };

const EXAMPLES: Readonly<Record<string, Example>> = {
  'AuthService/GenerateAuthUrl': {
    required: { clientId: '$CLIENT_ID', redirectUri: '$REDIRECT_URI', state: '$STATE' },
  },
  'AuthService/ExchangeToken': { required: { authToken: '$AUTH_TOKEN' } },

  'SessionService/CheckSession': { ...SESSION, optional: { maxStalenessMs: 0 } },
  'SessionService/RenewSession': SESSION,
  'SessionService/ListSessions': PAGE,
  'SessionService/RevokeSession': SESSION,
  'SessionService/RevokeUserSessions': USER,
  'SessionService/ListGrants': PAGE,
  'SessionService/EndGrant': { required: { grantId: '$GRANT_ID' } },

  'UserService/GetUser': USER,
  'UserService/ListUsers': PAGE,
  'UserService/InviteUser': { required: { email: '$NEW_EMAIL' }, optional: INVITED },
  'UserService/ListInvitations': PAGE,
  'UserService/RevokeInvitation': { required: { invitationId: '$INVITATION_ID' } },
  'UserService/BatchGetUsers': { required: { userIds: ['$USER_ID'] } },

  'WebhookService/CreateWebhook': {
    required: { url: 'https://example.com/hooks', ownerId: '$OWNER_ID', eventTypes: ['*'] },
    optional: { ordered: true, description: 'Zoë – check-ins & more', isActive: true },
  },
  'WebhookService/GetWebhook': WEBHOOK,
  'WebhookService/ListWebhooks': PAGE,
  'WebhookService/UpdateWebhook': {
    ...WEBHOOK,
    optional: { url: 'https://example.com/new', eventTypes: ['event.created'], isActive: false, description: 'New' },
  },
  'WebhookService/DeleteWebhook': WEBHOOK,
  'WebhookService/RotateSigningKey': { ...WEBHOOK, optional: { overlapSeconds: 3600 } },
  'WebhookService/SendTestMessage': WEBHOOK,
  'WebhookService/ListDeliveries': {
    ...WEBHOOK,
    optional: { status: 'pending', since: '2026-01-01T00:00:00Z', pageSize: 20 },
  },
  'WebhookService/GetDelivery': DELIVERY,
  'WebhookService/Redeliver': DELIVERY,
  'WebhookService/RedeliverFailed': { required: { webhookId: '$WEBHOOK_ID', since: '$SINCE' } },

  'EventService/CreateEvent': {
    required: { eventId: '$NEW_EVENT_ID' },
    optional: { name: 'Sommerfest Zürich & „mehr“' },
  },
  'EventService/GetEvent': EVENT,
  'EventService/ListEvents': PAGE,
  'EventService/DeleteEvent': EVENT,
  'EventService/CheckIn': { required: { eventId: '$EVENT_ID', attendeeId: '$ATTENDEE_ID' } },
  'EventService/ListCheckIns': { ...EVENT, ...PAGE },
  'EventService/UpdateEvent': { ...EVENT, optional: { capacity: 300 } },
  'EventService/BatchCheckIn': {
    required: {
      eventId: '$EVENT_ID',
      scans: [{ scanId: '0b9f6f2e-4d5c-4a7b-8c1d-9e0f1a2b3c4d', attendeeId: 'ticket-4711' }],
    },
  },
  'EventService/GetEventCounts': EVENT,
  'EventService/BatchPutAttendees': {
    required: { eventId: '$EVENT_ID', attendees: [{ attendeeId: 'ticket-4711', label: 'Ada Lovelace' }] },
  },
  'EventService/ListAttendees': { ...EVENT, ...PAGE },
  'EventService/DeleteAttendees': { required: { eventId: '$EVENT_ID', attendeeIds: ['ticket-4711'] } },
  'EventService/UndoCheckIn': { required: { eventId: '$EVENT_ID', attendeeId: '$ATTENDEE_ID' } },

  'MessageService/ListMessages': { optional: { cursor: 'oldest', pageSize: 20 } },

  'AdminService/CreateApplication': {
    required: { name: 'Café Zoë', redirectUris: ['https://app.example.com/callback'] },
    optional: { allowSignUp: true, ...BRANDING },
  },
  'AdminService/GetApplication': APPLICATION,
  'AdminService/ListApplications': PAGE,
  'AdminService/UpdateApplication': {
    ...APPLICATION,
    optional: {
      name: 'Läden & more',
      redirectUris: ['https://app.example.com/callback', 'http://127.0.0.1/callback'],
      allowSignUp: true,
      signUpEmailDomains: ['example.com', 'bücher.example'],
      allowInvitations: true,
      askName: true,
      sessionMaxAgeSeconds: 3600,
      sessionIdleSeconds: 2_592_000,
      ...BRANDING,
      singleSignOn: true,
      restrictAccess: true,
      openIdConnect: true,
      requirePkce: true,
      publicClient: true,
      postLogoutRedirectUris: ['https://app.example.com/'],
      backchannelLogoutUri: 'https://app.example.com/backchannel-logout',
    },
  },
  'AdminService/SetApplicationLogo': {
    required: { ...APPLICATION.required, theme: 'light' },
    optional: {
      image: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGPgj4sCAAFHAMiuBXLZAAAAAElFTkSuQmCC',
    },
  },
  'AdminService/DeleteApplication': APPLICATION,
  'AdminService/CreateApiKey': {
    ...APPLICATION,
    optional: { name: 'Kasse 2 – Süd', expiresAt: '2100-01-01T00:00:00Z', use: 'CLIENT_SECRET' },
  },
  'AdminService/ListApiKeys': { ...APPLICATION, ...PAGE },
  'AdminService/RotateApiKey': { required: { apiKeyId: '$API_KEY_ID' }, optional: { overlapSeconds: 3600 } },
  'AdminService/RevokeApiKey': { required: { apiKeyId: '$API_KEY_ID' } },
  'AdminService/CreateUser': {
    required: { email: '$NEW_EMAIL' },
    optional: {
      name: 'Ada Lovelace',
      profileImage: 'https://example.com/ada.png?size=1',
      walletAddress: '$WALLET_ADDRESS',
    },
  },
  'AdminService/ListPasskeys': USER,
  'AdminService/ListUserIdentities': USER,
  'AdminService/DeleteUserIdentity': {
    required: { userId: '$USER_ID', issuer: 'https://accounts.google.com', subject: '110169484474386276334' },
  },
  'AdminService/DeletePasskey': { required: { userId: '$USER_ID', passkeyId: '$PASSKEY_ID' } },
  'AdminService/AddApplicationUser': APPLICATION_USER,
  'AdminService/InviteUser': {
    required: { applicationId: '$APPLICATION_ID', email: '$NEW_EMAIL' },
    optional: INVITED,
  },
  'AdminService/RemoveApplicationUser': APPLICATION_USER,
  'AdminService/CreateGroup': {
    required: { name: '$NEW_GROUP_NAME' },
    optional: { displayName: 'Éditeurs & Redaktion' },
  },
  'AdminService/GetGroup': GROUP,
  'AdminService/ListGroups': PAGE,
  'AdminService/UpdateGroup': { ...GROUP, optional: { name: '$NEW_GROUP_NAME', displayName: 'Editors' } },
  'AdminService/DeleteGroup': GROUP,
  'AdminService/AddGroupMember': GROUP_MEMBER,
  'AdminService/RemoveGroupMember': GROUP_MEMBER,
  'AdminService/ListGroupMembers': { ...GROUP, ...PAGE },
  'AdminService/ListUserGroups': { ...USER, ...PAGE },
  'AdminService/SetGroupAccess': {
    required: { groupId: '$GROUP_ID', applicationId: '$APPLICATION_ID' },
    optional: { allowsAccess: true, inClaim: true },
  },
  'AdminService/ListApplicationGroups': APPLICATION,
  'AdminService/GetUser': USER,
  'AdminService/ListUsers': PAGE,
  'AdminService/ListUserSessions': { ...USER, ...PAGE },
  'AdminService/ListUserGrants': { ...USER, ...PAGE },
  'AdminService/EndUserGrant': {
    required: { userId: '$USER_ID', applicationId: '$APPLICATION_ID', grantId: '$GRANT_ID' },
  },
  'AdminService/EndUserSessions': USER,
  'AdminService/ListUserApplications': { ...USER, ...PAGE },
  'AdminService/UpdateUser': { ...USER, optional: { name: 'Grace Hopper, née Murray' } },
  'AdminService/DeactivateUser': USER,
  'AdminService/ReactivateUser': USER,
  'AdminService/EraseUser': USER,
  'AdminService/DeleteUser': USER,
  'AdminService/CompleteLogin': { required: { loginIntentId: '$LOGIN_INTENT_ID', userId: '$USER_ID' } },
  'AdminService/GetLoginIntent': LOGIN,
  'AdminService/CancelLogin': LOGIN,
  'AdminService/ListAuditEvents': PAGE,
};

/** @throws Error if the operation has no example */
export function exampleOf(method: DescMethodUnary): Example {
  const name = `${method.parent.name}/${method.name}`;
  const example = EXAMPLES[name];
  if (!example) throw new Error(`add an example of ${name} to src/api/docs/examples.ts`);
  return example;
}
