/** Sends every statement of tokens once, for the test of plans. */
import { randomUUID } from 'node:crypto';
import type { Run } from '../../src/database/pool/database.ts';
import type { ApplicationCall, Call } from '../../src/domain/core/call.ts';
import { endClient, exportConsents, listResourceClients, listUserClients } from '../../src/domain/grants/clients.ts';
import { endGrant, endGrantsOfBrowser, findResourcesOfLogin } from '../../src/domain/grants/end-grants.ts';
import { LiveSessions } from '../../src/domain/sessions/live-sessions.ts';
import { PublicClients } from '../../src/modules/oidc/clients/oidc-clients.ts';
import { Resources } from '../../src/modules/oidc/clients/resources.ts';
import {
  type AskingIntent,
  allowAgain,
  allowClient,
  denyClient,
  findAskedConsent,
  isRemembered,
} from '../../src/modules/oidc/domain/authorization/consent.ts';
import { beginGrant } from '../../src/modules/oidc/domain/grants/begin-grant.ts';
import { continueGrantedSession } from '../../src/modules/oidc/domain/grants/granted-session.ts';
import { LiveGrants } from '../../src/modules/oidc/domain/grants/live-grants.ts';
import { rotateGrant } from '../../src/modules/oidc/domain/grants/rotate-grant.ts';
import { deriveTokenKeys } from '../../src/modules/oidc/domain/tokens/token-keys.ts';
import { signInForCode } from './oidc-client.ts';
import { createTestUser, REDIRECT_URI, type Tenant, type TestService } from './service.ts';

export async function useOidc(
  call: ApplicationCall,
  runDistributed: Run,
  {
    service,
    tenant,
    letIn,
  }: {
    readonly service: TestService;
    readonly tenant: Tenant;
    readonly letIn?: (userId: string) => Promise<unknown>;
  },
): Promise<void> {
  const keys = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);
  const applicationId = tenant.id;
  const ways = [
    { subscribed: new Set<string>(), run: call.run },
    { subscribed: new Set<string>(), run: runDistributed },
    { subscribed: new Set([applicationId]), run: call.run },
    { subscribed: new Set([applicationId]), run: runDistributed },
  ];
  for (const { subscribed, run } of ways) {
    const user = await createTestUser(service);
    await letIn?.(user.id);
    const issuing = { ...call, run, forClient: null, isPublic: true, peer: { ipAddress: '::1', userAgent: '' } };
    const parts = { codeKeys: keys.code, maxAgeSeconds: 3_600, subscribed };
    const begin = async () => {
      const code = await signInForCode(service, tenant, user);
      return beginGrant(issuing, parts, { code, redirectUri: REDIRECT_URI, codeVerifier: undefined });
    };
    await begin();
    // A later sign-in, which updates the session.
    const begun = await begin();
    const grant = { ...begun.grant, applicationId, isForClient: false };
    const { grantId } = grant;
    const { session } = begun;
    await new LiveSessions(run).find(applicationId, session.id, 0);
    await continueGrantedSession({ ...call, run, forClient: null }, grant);
    const ofClient = { ...grant, isForClient: true };
    await continueGrantedSession({ ...call, run, forClient: 'https://client.test/c' }, ofClient).catch(() => {});
    await rotateGrant({ ...call, forClient: null }, grant);
    await new LiveGrants(run, new LiveSessions(run), () => true).find(applicationId, grantId);
    await endGrant(call, { grantId });
    await findResourcesOfLogin(call, { clientId: 'https://client.test/c', userId: user.id, sid: grant.sid });
    await endGrantsOfBrowser(call, { applicationId, userId: user.id, sid: grant.sid });
  }
  await new PublicClients(call.run).find(`client_${randomUUID().replaceAll('-', '')}`);
}

/** Sends the statements of clients of resources once. */
export async function useResources(call: Call, { id: applicationId }: Tenant, userId: string): Promise<void> {
  const resources = new Resources(call.run);
  await resources.findByUri('https://mcp.app.test/');
  await resources.findById(applicationId);
  const intent = {
    ...{ id: randomUUID(), applicationId, userId, redirectUri: 'https://client.test/' },
    ...{ forClient: 'https://client.test/client', clientName: 'Client', browserDigest: null, completedAt: new Date() },
  } as AskingIntent;
  const asked = { scope: 1, scopeNames: ['read'], askConsent: false, resourceScopes: [], email: '' };
  await findAskedConsent(call, intent);
  await isRemembered(call, intent, asked);
  await allowAgain(call, intent);
  await allowClient(call, deriveTokenKeys([]), intent, asked, '::1');
  await denyClient(call, intent);
  await listUserClients(call, userId);
  await listResourceClients(call, applicationId);
  await exportConsents(call, userId);
  await endClient(call, { applicationId, clientId: intent.forClient, userId });
}
