/** Every statement of restricted applications, for tests that go over all statements. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Run } from '../../src/database/pool/database.ts';
import type { ApplicationCall } from '../../src/domain/core/call.ts';
import { goOn } from '../../src/domain/lifecycle/finish-change.ts';
import { cutOffRefused } from '../../src/domain/lifecycle/lost-access.ts';
import { completeLogin } from '../../src/domain/login/complete-login.ts';
import { exchangeToken } from '../../src/domain/sessions/exchange-token.ts';
import { renewSession } from '../../src/domain/sessions/renew-session.ts';
import { reasonOf } from './refusals.ts';
import {
  adminClient,
  createLoginIntent,
  createTenant,
  createTestGroup,
  createTestUser,
  type Tenant,
  type TestService,
} from './service.ts';
import { useOidc } from './use-oidc.ts';
import { usePasskeys } from './use-passkeys.ts';
import { useRememberedSignIns } from './use-remembered-sign-ins.ts';

/** @param runs one for each layout. `call` is of the tenant, which shares sign-ins. */
export async function useRestrictedAccess(
  call: ApplicationCall,
  runs: readonly [whole: Run, distributed: Run],
  parts: Parameters<typeof usePasskeys>[1],
  { service, tenant }: { readonly service: TestService; readonly tenant: Tenant },
): Promise<void> {
  const { tokens } = parts;
  const { encryptionKeys = [] } = service.config.secrets;
  await usePasskeys({ ...call, run: runs[1] }, parts, encryptionKeys, { service, tenant });
  await service.database.sql`update applications set restrict_access = true where id = ${tenant.id}`;
  const letIn = (userId: string) => adminClient(service).addApplicationUser({ applicationId: tenant.id, userId });
  const restricted = { ...call, application: { ...call.application, restrictAccess: true } };
  for (const run of runs) {
    const here = { ...restricted, run };
    const [{ id: userId }, { id: other }] = [await createTestUser(service), await createTestUser(service)];
    await letIn(userId);
    const begin = async () => ({ loginIntentId: await createLoginIntent(service, tenant) });
    expect(await reasonOf(completeLogin(here, tokens, { ...(await begin()), userId: other }))).toBe(
      'ACCESS_NOT_ALLOWED',
    );
    const proved = { issuer: 'https://nobody.test', subject: '1' };
    expect(await reasonOf(completeLogin(here, tokens, { ...(await begin()), userId }, { proved }))).toBe(
      'USER_NOT_FOUND',
    );
    for (const subscribed of [new Set<string>(), new Set([tenant.id])]) {
      const { authToken } = await completeLogin(here, tokens, { ...(await begin()), userId });
      const exchange = { tokens, sessionMaxAgeSeconds: 43_200, subscribed };
      const exchanging = { ...here, now: new Date() };
      const session = await exchangeToken(exchanging, exchange, { ipAddress: '::1', userAgent: '' }, { authToken });
      for (const application of [here.application, call.application])
        await renewSession({ ...here, application }, { sessionMaxAgeSeconds: 43_200 }, { sessionId: session.id });
      await service.database.sql`delete from sessions where user_id = ${userId}`;
    }
    await usePasskeys(here, parts, encryptionKeys, { service, tenant, letIn });
    expect(await reasonOf(useRememberedSignIns(here, tokens, { service, tenant }))).toBe('ACCESS_NOT_ALLOWED');
  }
  await useOidc(restricted, runs[1], { service, tenant, letIn });
  const unfinished = { application: tenant.id, group: (await createTestGroup(service)).groupId, user: randomUUID() };
  for (const [kind, subjectId] of Object.entries(unfinished)) {
    for (const run of kind === 'application' ? runs : [call.run]) {
      const [due] = await service.database.sql<{ id: string }[]>`
        insert into unfinished_changes (id, kind, subject_id, losing_ids, created_at, due_at)
        select gen_random_uuid(), ${kind}, ${subjectId}, array[${tenant.id}]::uuid[], now() - interval '1 day',
          now() + interval '1 day' returning id`;
      await goOn({ ...call, run }, due?.id ?? '');
    }
  }
  const { id: userId } = await createTestUser(service);
  await cutOffRefused(call, [
    [tenant.id, userId],
    [(await createTenant(service)).id, userId],
  ]);
}
