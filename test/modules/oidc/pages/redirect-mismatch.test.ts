/** Why a request names no place to answer: the log says it to operators, and the page to integrators. */
import { afterAll, expect, test } from 'vitest';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { authorizationOf, createRsaJwk } from '../../../support/oidc.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { createTenant, REDIRECT_URI } from '../../../support/service.ts';

const log = new RecordedLog();
const service = await log.start({ oidcSigningKeys: [createRsaJwk()] });
afterAll(() => service.close());
const tenant = await createTenant(service, { openIdConnect: true });
const plain = await createTenant(service);

const COMPARE = 'must equal one of the application’s redirect URIs in every character';
const own = { of: tenant, applicationId: tenant.id };
const none = { of: plain, applicationId: undefined };

test.each([
  ['a slash at the end', own, { redirect_uri: `${REDIRECT_URI}/` }, `${REDIRECT_URI}/`],
  [
    'another scheme',
    own,
    { redirect_uri: REDIRECT_URI.replace('https', 'http') },
    REDIRECT_URI.replace('https', 'http'),
  ],
  ['a query', own, { redirect_uri: 'https://a:b@app.test/x?token=secret&c' }, 'https://…@app.test/x?token=…&c'],
])('%s is logged with the application and the URI, and the page says what to compare', async (_, at, changes, uri) => {
  const page = await new LoginBrowser(service).open(`/oidc/authorize?${authorizationOf(at.of, changes)}`);
  expect(page.status).toBe(400);
  expect(page.body).toContain(COMPARE);
  const { applicationId } = at;
  expect(log.callLines.at(-1)).toMatchObject({ applicationId, detail: `redirect_uri is not registered: ${uri}` });
});

test.each([
  ['redirect_uri is missing', own, { redirect_uri: undefined }],
  ['client_id is missing', { of: tenant, applicationId: undefined }, { client_id: undefined }],
  ['client_id is unknown, or its application has no OpenID Connect', none, {}],
])('the log tells it from another cause: %s', async (detail, at, changes) => {
  await new LoginBrowser(service).open(`/oidc/authorize?${authorizationOf(at.of, changes)}`);
  expect(log.callLines.at(-1)).toMatchObject({ detail, reason: 'invalid_request' });
  expect(log.callLines.at(-1)?.applicationId).toBe(at.applicationId);
});

test('a long URI is cut in the log', async () => {
  const redirect_uri = `https://app.test/${'a'.repeat(2_000)}`;
  await new LoginBrowser(service).open(`/oidc/authorize?${authorizationOf(tenant, { redirect_uri })}`);
  expect(String(log.callLines.at(-1)?.detail).length).toBeLessThan(400);
});
