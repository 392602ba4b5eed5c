/** Attributes of users as claims: in ID tokens, also refreshed ones, and in userinfo. */
import { decodeJwt } from 'jose';
import { afterAll, expect, test } from 'vitest';
import { createRsaJwk } from '../../../support/oidc.ts';
import { createOidcTenant, getUserinfo, redeem, refresh, signInForCode } from '../../../support/oidc-client.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { adminClient, createTestUser } from '../../../support/service.ts';

const log = new RecordedLog();
const service = await log.start({ oidcSigningKeys: [createRsaJwk()] });
afterAll(service.close);
const admin = adminClient(service);
const tenant = await createOidcTenant(service);
await admin.updateApplication({ applicationId: tenant.id, attributeClaims: ['plan', 'notes'] });

test('are those that the application lists, with the scope profile alone', async () => {
  const user = await createTestUser(service, { name: 'Ada' });
  await admin.updateUser({ userId: user.id, attributes: { plan: ['pro', 'beta'], secret: true } });
  const tokensOf = async (scope: string) =>
    (await redeem(service, tenant, await signInForCode(service, tenant, user, { scope }))).body;
  const first = await tokensOf('openid profile');
  const refreshed = (await refresh(service, tenant, first.refresh_token)).body;
  const userinfo = (await getUserinfo(service, first.access_token)).body;
  for (const claims of [decodeJwt(first.id_token ?? ''), decodeJwt(refreshed.id_token ?? ''), userinfo]) {
    expect(claims).toMatchObject({ name: 'Ada', plan: ['pro', 'beta'] });
    expect(claims).not.toHaveProperty('secret');
  }
  expect(decodeJwt((await tokensOf('openid email')).id_token ?? '')).not.toHaveProperty('plan');
});

test('stay out of a token for which they are too long, and the log says so', async () => {
  const user = await createTestUser(service);
  await admin.updateUser({ userId: user.id, attributes: { plan: 'pro', notes: 'x'.repeat(1_024) } });
  const { body } = await redeem(
    service,
    tenant,
    await signInForCode(service, tenant, user, { scope: 'openid profile' }),
  );
  const claims = decodeJwt(body.id_token ?? '');
  expect(claims).toMatchObject({ plan: 'pro' });
  expect(claims).not.toHaveProperty('notes');
  expect((await getUserinfo(service, body.access_token)).body).not.toHaveProperty('notes');
  const lines = log.parsed.filter(({ msg }) => msg === 'attribute left out of token');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatchObject({ applicationId: tenant.id, attribute: 'notes' });
});
