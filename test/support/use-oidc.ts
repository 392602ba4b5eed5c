/** Sends every statement of tokens once, for the test of plans. */
import { randomUUID } from 'node:crypto';
import type { ApplicationCall } from '../../src/domain/call.ts';
import { endGrant, endGrantsOfBrowser } from '../../src/domain/oidc/end-grants.ts';
import { beginGrantedSession, continueGrantedSession } from '../../src/domain/oidc/granted-session.ts';
import { LiveGrants } from '../../src/domain/oidc/live-grants.ts';
import { PublicClients } from '../../src/domain/oidc/public-clients.ts';
import { redeemCode } from '../../src/domain/oidc/redeem-code.ts';
import { rotateGrant } from '../../src/domain/oidc/rotate-grant.ts';
import { deriveTokenKeys } from '../../src/domain/oidc/token-keys.ts';
import { LiveSessions } from '../../src/domain/sessions/live-sessions.ts';
import { signInForCode } from './oidc-client.ts';
import { createTestUser, REDIRECT_URI, type Tenant, type TestService } from './service.ts';

export async function useOidc(
  call: ApplicationCall,
  { service, tenant }: { readonly service: TestService; readonly tenant: Tenant },
): Promise<void> {
  const keys = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);
  const applicationId = tenant.id;
  for (const subscribed of [new Set<string>(), new Set([applicationId])]) {
    const user = await createTestUser(service);
    const code = await signInForCode(service, tenant, user);
    const request = { code, redirectUri: REDIRECT_URI, codeVerifier: undefined };
    const { loginIntentId: grantId, ...login } = await redeemCode(call, keys.code, request);
    const endsAt = new Date(call.now.getTime() + 3_600_000);
    const grant = { ...login, applicationId, grantId, endsAt, rotation: 1 };
    await beginGrantedSession(call, subscribed, { ipAddress: '::1', userAgent: '' }, grant);
    await continueGrantedSession(call, grant);
    await rotateGrant(call, grant);
    await new LiveGrants(call.run, new LiveSessions(call.run)).find(applicationId, grantId);
    await endGrant(call, { grantId });
    await endGrantsOfBrowser(call, { applicationId, userId: user.id, sid: login.sid });
  }
  await new PublicClients(call.run).find(`client_${randomUUID().replaceAll('-', '')}`, performance.now() + 60_000);
}
