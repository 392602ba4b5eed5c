/** Shell variables for the reader's own values, each with the source of its value. */
export const VARIABLES = {
  CLIENT_ID: '`clientId` of CreateApplication',
  REDIRECT_URI: 'one of the `redirectUris` of the application',
  STATE: 'a random text: `$(openssl rand -hex 16)`',
  AUTH_TOKEN: '`authToken`, which the redirect URI receives',
  SESSION_ID: '`session.id` of ExchangeToken',
  USER_ID: '`user.id` of CreateUser, or `id` of ListUsers',
  OWNER_ID: '`user.id` of CreateUser with `applicationIds`, or `id` of ListUsers',
  WEBHOOK_ID: '`webhookId` of CreateWebhook',
  MESSAGE_ID: '`messageId` of SendTestMessage',
  SINCE: 'an instant of the last 14 days: `$(date -u +%FT%TZ)`',
  EVENT_ID: '`eventId` of CreateEvent',
  NEW_EVENT_ID: 'an ID of your choice: `party-$RANDOM`',
  ATTENDEE_ID: 'an ID of your choice: `ticket-$RANDOM`',
  APPLICATION_ID: '`application.id` of CreateApplication',
  API_KEY_ID: '`apiKeyId` of CreateApplication or CreateApiKey',
  INVITATION_ID: '`invitation.invitationId` of InviteUser',
  NEW_EMAIL: 'an e-mail address: `ada-$RANDOM@example.com`',
  EXTERNAL_ID: 'an ID of your own: `crm-$RANDOM`',
  WALLET_ADDRESS: 'an Ethereum address: `0x$(openssl rand -hex 20)`',
  LOGIN_INTENT_ID: '`loginIntentId` of GenerateAuthUrl',
  PASSKEY_ID: '`passkeyId` of ListPasskeys',
  GRANT_ID: '`grantId` of ListGrants',
  GROUP_ID: '`group.groupId` of CreateGroup',
  NEW_GROUP_NAME: 'a name of your choice: `editors-$RANDOM`',
} as const;

export type Variable = keyof typeof VARIABLES;
