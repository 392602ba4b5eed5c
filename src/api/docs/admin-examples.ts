/** The examples of the operations of AdminService. */
import { type Example, INVITED, PAGE, USER } from './example.ts';

const APPLICATION: Example = { required: { applicationId: '$APPLICATION_ID' } };
const APPLICATION_USER: Example = { required: { applicationId: '$APPLICATION_ID', userId: '$USER_ID' } };
const GROUP: Example = { required: { groupId: '$GROUP_ID' } };
const GROUP_MEMBER: Example = { required: { groupId: '$GROUP_ID', userId: '$USER_ID' } };
const LOGIN: Example = { required: { loginIntentId: '$LOGIN_INTENT_ID' } };
const BRANDING = {
  accentColor: '#0f5e5a',
  termsUri: 'https://app.example.com/terms',
  privacyUri: 'https://app.example.com/privacy',
  supportUri: 'mailto:help@example.com',
  initiateLoginUri: 'https://app.example.com/login',
  loginMethods: ['email', 'passkey'],
};

export const ADMIN_EXAMPLES: Readonly<Record<string, Example>> = {
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
      requiredAssurance: 'TWO_FACTORS',
      openIdConnect: true,
      requirePkce: true,
      publicClient: true,
      postLogoutRedirectUris: ['https://app.example.com/'],
      backchannelLogoutUri: 'https://app.example.com/backchannel-logout',
      resourceUri: '$RESOURCE_URI',
      resourceScopes: [{ name: 'orders:read', description: 'See your orders – also old ones' }],
      allowMetadataClients: true,
      deviceLogin: true,
      machineClientIds: ['client_0123456789abcdef0123456789abcdef'],
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
      externalId: '$EXTERNAL_ID',
      attributes: { plan: 'pro', seats: 5 },
    },
  },
  'AdminService/BatchCreateUsers': {
    required: { users: [{ email: 'emmy@example.com', name: 'Emmy Noether', attributes: { plan: 'pro' } }] },
    optional: { onConflict: 'update', notify: true },
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
  'AdminService/UpdateUser': { ...USER, optional: { name: 'Grace Hopper, née Murray', attributes: { plan: 'free' } } },
  'AdminService/DeactivateUser': USER,
  'AdminService/ReactivateUser': USER,
  'AdminService/EraseUser': USER,
  'AdminService/DeleteUser': USER,
  'AdminService/CompleteLogin': {
    required: { loginIntentId: '$LOGIN_INTENT_ID', userId: '$USER_ID' },
    optional: { assurance: 2 },
  },
  'AdminService/GetLoginIntent': LOGIN,
  'AdminService/CancelLogin': LOGIN,
  'AdminService/ListAuditEvents': PAGE,
};
