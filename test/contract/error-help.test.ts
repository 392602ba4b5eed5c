/** Errors of the first day say where to read on, and the log says what came. */
import { ConnectError } from '@connectrpc/connect';
import { Help } from 'nice-grpc-error-details';
import { afterAll, expect, it } from 'vitest';
import { generateApiKey } from '../../src/domain/applications/api-key.ts';
import { request } from '../support/http.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { ADMIN_KEY, clientsOf, createTenant, PUBLIC_URL, REDIRECT_URI } from '../support/service.ts';

const log = new RecordedLog();
const service = await log.start();
afterAll(() => service.close());
const tenant = await createTenant(service);
const errors = `${PUBLIC_URL.replace(/\/$/, '')}/docs/errors`;

/** Returns what the line of the latest call says. */
async function readDetail(requestId: string | undefined): Promise<unknown> {
  await expect.poll(() => log.callLines.some((line) => line.requestId === requestId)).toBe(true);
  return log.callLines.find((line) => line.requestId === requestId)?.detail;
}

const post = (path: string, headers: Record<string, string>, body = '{}') =>
  request(service.url, { method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body });

it.each([
  ['no key', {}, 'no key'],
  ['a bearer token', { authorization: `Bearer ${tenant.apiKey}` }, 'no key, but authorization'],
  ['the header of operators', { 'x-admin-key': ADMIN_KEY }, 'no key, but x-admin-key'],
  ['an admin key', { 'x-api-key': ADMIN_KEY }, 'an admin key'],
  ['a mistyped key', { 'x-api-key': `${tenant.apiKey}x` }, 'malformed'],
  ['an unknown key', { 'x-api-key': generateApiKey() }, 'unknown, revoked or expired'],
])('explains an invalid API key to a call with %s, and to the log', async (_, headers, detail) => {
  for (const path of ['/api/sessions/check', '/usher.v1.SessionService/CheckSession']) {
    const reply = await post(path, headers);
    const body = JSON.parse(reply.body);
    expect(reply.status).toBe(401);
    expect(body.message).toBe('Invalid API key');
    const help = `${errors}#error-INVALID_API_KEY`;
    if (path.startsWith('/api')) expect(body.help).toBe(help);
    else expect(JSON.stringify(body.details)).toContain(help);
    expect(await readDetail(reply.headers['x-request-id'])).toBe(detail);
  }
});

it.each([
  ['no key', {}, 'no key'],
  ['the header of applications', { 'x-api-key': tenant.apiKey }, 'no key, but x-api-key'],
  ['an API key', { 'x-admin-key': tenant.apiKey }, 'an API key'],
  ['an unknown key', { 'x-admin-key': 'a'.repeat(40) }, 'unknown'],
])('explains an invalid admin key to a call with %s, and to the log', async (_, headers, detail) => {
  const reply = await post('/usher.v1.AdminService/ListApplications', headers);
  expect(reply.body).toContain(`${errors}#error-INVALID_ADMIN_KEY`);
  expect(await readDetail(reply.headers['x-request-id'])).toBe(detail);
});

it('has the page in the detail that libraries of Google read', async () => {
  const error = await clientsOf(service, { apiKey: 'wrong' }).events.listEvents({}).catch(ConnectError.from);
  const found = (error as ConnectError).details.find((each) => 'type' in each && each.type === 'google.rpc.Help');
  const { links } = Help.decode((found as { value: Uint8Array }).value);
  expect(links).toMatchObject([{ description: 'What to do', url: `${errors}#error-INVALID_API_KEY` }]);
});

it.each([
  [`${REDIRECT_URI}/`, 'differs in pathname'],
  [REDIRECT_URI.replace('https:', 'http:'), 'differs in protocol'],
  [REDIRECT_URI.replace('app.test', 'app.test:8443'), 'differs in port'],
  ['not a url', 'is no absolute URL'],
])('explains the redirect URI %j, and says in the log in what it differs', async (redirectUri, detail) => {
  const body = JSON.stringify({ redirectUri, state: 'state' });
  const path = `/api/oauth/generate-auth-url?clientId=${tenant.clientId}`;
  const reply = await post(path, { 'x-api-key': tenant.apiKey }, body);
  expect(JSON.parse(reply.body)).toMatchObject({
    message: 'Invalid redirect URI',
    help: `${errors}#error-INVALID_REDIRECT_URI`,
  });
  expect(await readDetail(reply.headers['x-request-id'])).toBe(detail);
});

it('leads to rows that are there, and say what to do', async () => {
  const page = (await request(service.url, { path: '/docs/errors' })).body;
  for (const reason of ['INVALID_API_KEY', 'INVALID_ADMIN_KEY', 'INVALID_REDIRECT_URI'])
    expect(page).toMatch(new RegExp(`<tr id="error-${reason}">.*<p>(Send|Register) `));
});

it('names the media types and the encoding that it takes instead of another one', async () => {
  const key = { 'x-api-key': tenant.apiKey };
  const rest = await post('/api/sessions/check', { ...key, 'content-type': 'application/x-www-form-urlencoded' });
  expect(rest).toMatchObject({ status: 415, headers: { accept: 'application/json' } });
  expect(JSON.parse(rest.body).errors).toEqual([{ field: 'Content-Type', message: 'must be application/json' }]);
  const zipped = await post('/api/sessions/check', { ...key, 'content-encoding': 'gzip' });
  expect(zipped).toMatchObject({ status: 415, headers: { 'accept-encoding': 'identity' } });
  expect(JSON.parse(zipped.body).errors).toEqual([{ field: 'Content-Encoding', message: 'must be identity' }]);
  const rpc = await post('/usher.v1.SessionService/CheckSession', { ...key, 'content-type': 'text/plain' });
  expect(rpc.status).toBe(415);
  expect(rpc.body).toContain('must be one of application/json');
});

it('says where IDs are to a webhook without an owner', async () => {
  const { webhooks } = clientsOf(service, tenant);
  const error = await webhooks
    .createWebhook({ url: 'https://example.com/', eventTypes: ['*'] })
    .catch(ConnectError.from);
  expect(JSON.stringify((error as ConnectError).details)).toContain('as ExchangeToken and ListUsers return it');
});
