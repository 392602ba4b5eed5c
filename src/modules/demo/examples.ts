/** What the examples of the API reference need: an application's own things to read, and others to change and end. */
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import type { Fields } from '../../api/call-info.ts';
import { requireProcedure } from '../../api/procedures.ts';
import { BY_USHER, withAudit } from '../../domain/audit/audit-event.ts';
import type { Core } from '../module.ts';
import type { Demo, DemoParts } from './demo.ts';
import { createState } from './site.ts';

const TIMEOUT_MS = 5_000;
const PEER = { ipAddress: '127.0.0.1', userAgent: 'Usher demo' };

export type ExampleParts = DemoParts & Pick<Core, 'api' | 'notices' | 'onMessage' | 'passkeyHost'>;

/** Makes values of the variables in the examples, so that each example works once, in the order of the pages. */
export async function makeExampleValues(demo: Demo, parts: ExampleParts): Promise<Readonly<Record<string, string>>> {
  const { apiKey, applicationId, clientId, redirectUri, webhookId } = demo;
  const perform = createPerform(demo, parts);
  const mark = randomBytes(4).toString('hex');
  const admin = AdminService.method;
  await perform(admin.updateApplication, { applicationId, allowInvitations: true, messageFeed: true });
  const person = {
    email: `ada-${mark}@example.com`,
    name: 'Ada Lovelace',
    applications: [applicationId],
    passkeys: [{ ...createPasskey(), rpId: parts.passkeyHost }],
  };
  const { results } = await perform(admin.batchCreateUsers, { users: [person] });
  const userId = results?.[0]?.id ?? '';
  const login = { clientId, redirectUri, state: createState(apiKey) };
  const begun = await perform(AuthService.method.generateAuthUrl, login);
  const { authToken } = await perform(admin.completeLogin, { loginIntentId: begun.loginIntentId, userId });
  const { session } = await perform(AuthService.method.exchangeToken, { authToken });
  const other = { name: 'Another application', redirectUris: [redirectUri] };
  const events = ['one', 'other'].map((name) => `${name}-${mark}`);
  for (const eventId of events) await perform(EventService.method.createEvent, { eventId, name: 'Demo event' });
  const webhook = { url: 'https://example.com/hooks', ownerId: userId, eventTypes: ['*'], isActive: false };
  const group = async (name: string) => (await perform(admin.createGroup, { name })).group?.groupId ?? '';
  const lost = { userId, removes: ['PASSKEYS'], reason: 'An example of the API reference.' };
  const invited = { applicationId, email: `joan-${mark}@example.com` };
  return {
    REDIRECT_URI: redirectUri,
    STATE: login.state,
    AUTH_TOKEN: authToken ?? '',
    SESSION_ID: session?.id ?? '',
    ACCESS_TOKEN: `uat_${randomBytes(62).toString('base64url')}`,
    USER_ID: userId,
    OTHER_USER_ID: (await perform(admin.createUser, { email: `kay-${mark}@example.com` })).user?.id ?? '',
    OWNER_ID: userId,
    WEBHOOK_ID: webhookId,
    OTHER_WEBHOOK_ID: (await perform(WebhookService.method.createWebhook, webhook)).webhook?.webhookId ?? '',
    MESSAGE_ID: (await perform(WebhookService.method.sendTestMessage, { webhookId })).messageId ?? '',
    SINCE: parts.clock().toISOString(),
    EVENT_ID: events[0] ?? '',
    OTHER_EVENT_ID: events[1] ?? '',
    NEW_EVENT_ID: `party-${mark}`,
    ATTENDEE_ID: `ticket-${mark}`,
    APPLICATION_ID: applicationId,
    OTHER_APPLICATION_ID: (await perform(admin.createApplication, other)).application?.id ?? '',
    API_KEY_ID: (await perform(admin.createApiKey, { applicationId })).apiKeyId ?? '',
    INVITATION_ID: (await perform(admin.inviteUser, invited)).invitation?.invitationId ?? '',
    INVITED_EMAIL: `grace-${mark}@example.com`,
    NEW_EMAIL: `emmy-${mark}@example.com`,
    EXTERNAL_ID: `crm-${mark}`,
    RESOURCE_URI: `https://mcp-${mark}.example.com/`,
    WALLET_ADDRESS: `0x${randomBytes(20).toString('hex')}`,
    LOGIN_INTENT_ID: (await perform(AuthService.method.generateAuthUrl, login)).loginIntentId ?? '',
    PASSKEY_ID: (await perform(admin.listPasskeys, { userId })).passkeys?.[0]?.passkeyId ?? '',
    GRANT_ID: randomUUID(),
    GROUP_ID: await group(`editors-${mark}`),
    OTHER_GROUP_ID: await group(`guests-${mark}`),
    NEW_GROUP_NAME: `authors-${mark}`,
    RECOVERY_LINK_ID: (await perform(admin.createRecoveryLink, lost)).recoveryLink?.recoveryLinkId ?? '',
  };
}

/** Returns a function that calls an RPC in process, in the demo application. */
function createPerform({ applicationId, applicationName, clientId, redirectUris }: Demo, parts: ExampleParts) {
  const application = { id: applicationId, name: applicationName, clientId, redirectUris };
  return async <Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    fields: Fields<Input>,
  ): Promise<MessageInitShape<Output>> => {
    const { action, handle } = requireProcedure(parts.api.procedures, method);
    // Reads the clock each time: a token is issued after the call that begins a login.
    const now = parts.clock();
    const run = withAudit(parts.database.within(performance.now() + TIMEOUT_MS), { ...BY_USHER, action, now });
    const call = { run, now, application, notices: parts.notices, onMessage: parts.onMessage };
    return (await handle(call as never, fields as never, PEER)) as MessageInitShape<Output>;
  };
}

/** Returns a passkey whose private key nobody has. Its public key is in COSE (RFC 9052): EC2, ES256, P-256. */
function createPasskey() {
  const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const hex = ['a5010203262001215820', toHex(x), '225820', toHex(y)].join('');
  return {
    credentialId: randomBytes(16).toString('base64url'),
    publicKey: Buffer.from(hex, 'hex').toString('base64url'),
  };
}

function toHex(base64Url: string): string {
  return Buffer.from(base64Url, 'base64url').toString('hex');
}
