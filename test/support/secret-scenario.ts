/** What callers, people and faults do to a service while a scanner looks for secrets in every reply. */
import { hash, randomBytes } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { LoginBrowser, type LoginPage } from './login-browser.ts';
import { wrongCode } from './mail-server.ts';
import { registerClient } from './oidc-secrets.ts';
import { type Call, CONNECT, PROTOCOLS, type Protocol, send, supports } from './protocols.ts';
import { refuseWrites } from './refuse-writes.ts';
import type { Surroundings } from './secret-process.ts';
import type { SecretScanner } from './secret-scanner.ts';
import { ADMIN_KEY } from './service.ts';
import { Wallet } from './wallet.ts';

const ADMIN = AdminService.method;
const { generateAuthUrl, exchangeToken } = AuthService.method;
const { getWebhook, createWebhook } = WebhookService.method;
const { createEvent, deleteEvent, checkIn } = EventService.method;
const PERSON = ['e-mail', 'name', 'wallet'];

/** Calls every RPC over every protocol, logs in on the login page, and then injects faults. */
export async function runScenario(around: Surroundings, scanner: SecretScanner): Promise<void> {
  const { url, database, proxy, mail } = around;
  const call = async (protocol: Protocol, name: string, sent: Call, allowed: readonly string[] = []) => {
    const reply = await send(protocol, url, sent);
    scanner.lookAt(`${name} over ${protocol.name}`, reply, allowed);
    return reply.status === 200 && protocol.isJson ? JSON.parse(reply.body) : {};
  };
  const admin = (method: DescMethodUnary, fields: JsonObject, allowed: readonly string[] = []) => {
    return call(CONNECT, method.name, { method, fields, headers: { 'x-admin-key': ADMIN_KEY } }, allowed);
  };
  const redirectUri = 'https://app.test/callback';
  const { application, apiKey } = await admin(ADMIN.createApplication, { name: 'App', redirectUris: [redirectUri] }, [
    'API key',
  ]);
  scanner.keep('API key', apiKey);
  scanner.keep('API key', apiKey.slice(4, 47));
  const wallet = new Wallet();
  const person = {
    email: scanner.keep('e-mail', `planted-${randomBytes(6).toString('hex')}@example.com`),
    name: scanner.keep('name', `planted-name ü?&="${randomBytes(6).toString('hex')}`),
    walletAddress: scanner.keep('wallet', wallet.checksumAddress),
  };
  scanner.keep('wallet', wallet.address);
  const { user } = await admin(ADMIN.createUser, { ...person, applicationIds: [application.id] }, PERSON);
  const headers = { 'x-api-key': apiKey };
  const beginLogin = async () => {
    const state = scanner.keep('state', `planted-state ü?&="${randomBytes(8).toString('hex')}`);
    const fields = { clientId: application.clientId, redirectUri, state };
    const { loginIntentId } = await call(CONNECT, 'GenerateAuthUrl', { method: generateAuthUrl, fields, headers });
    return loginIntentId;
  };
  const logIn = async () => {
    const loginIntentId = await beginLogin();
    const { authToken } = await admin(ADMIN.completeLogin, { loginIntentId, userId: user.id }, ['token', 'state']);
    scanner.keep('token', authToken);
    for (const part of authToken.split('.').slice(1)) scanner.keep('token', part);
    return authToken;
  };

  let webhookId = '';
  let authToken = '';
  const everyRpc = async ({ canWrite }: { canWrite: boolean }) => {
    const written = (...names: string[]) => (canWrite ? names : []);
    for (const protocol of PROTOCOLS) {
      const fields = {
        clientId: application.clientId,
        redirectUri,
        state: scanner.keep('state', `planted-state ${randomBytes(8).toString('hex')}`),
      };
      const calls: [DescMethodUnary, JsonObject, string[]][] = [
        [generateAuthUrl, fields, []],
        [exchangeToken, { authToken }, written(...PERSON)],
        [exchangeToken, { authToken: `${authToken.slice(0, -4)}AAAA` }, []],
        [getWebhook, { webhookId }, ['signing key', 'e-mail', 'name']],
        [getWebhook, { webhookId: apiKey }, []],
        [createEvent, { eventId: `event-${protocol.name}`, name: person.name }, written('name')],
        [checkIn, { eventId: `event-${protocol.name}`, attendeeId: person.email }, written('e-mail')],
        [deleteEvent, { eventId: `event-${protocol.name}` }, []],
        [deleteEvent, { eventId: authToken }, []],
      ];
      for (const [method, fields, allowed] of calls.filter(([method]) => supports(protocol, method))) {
        await call(protocol, method.name, { method, fields, headers }, allowed);
      }
      for (const bad of [`${apiKey.slice(0, -1)}!`, ADMIN_KEY, authToken]) {
        await call(protocol, 'a bad key', {
          method: getWebhook,
          fields: { webhookId },
          headers: { 'x-api-key': bad, cookie: authToken },
        });
      }
      const unreadable = `{"authToken":"${authToken}", ${apiKey}`;
      await call(protocol, 'a broken body', { method: exchangeToken, body: unreadable, headers });
    }
  };
  const fields = { url: 'https://hooks.test', ownerId: user.id, eventTypes: ['webhook.test'] };
  const newWebhook = { method: createWebhook, fields, headers };
  // What the signing key is, is known only once it has been told.
  const { webhook } = await call(CONNECT, 'CreateWebhook', newWebhook, ['signing key', 'e-mail', 'name']);
  scanner.keep('signing key', webhook.signingKey, { bytes: Buffer.from(webhook.signingKey.slice(6), 'base64') });
  scanner.keep('signing key', webhook.signingKey.slice(6));
  webhookId = webhook.webhookId;
  authToken = await logIn();
  await everyRpc({ canWrite: true });
  await logInOnPage(around, scanner, { email: person.email, wallet, beginLogin });
  const client = await registerClient({ url, scanner, user, admin });
  await client.signIn();
  await client.useTokens();
  await client.end();
  await client.signIn();

  mail.refuse();
  const browser = new LoginBrowser({ url });
  const page = await browser.open(`/login?intent=${await beginLogin()}`);
  lookAtPage(scanner, 'a page without mail', await browser.submit(page, '/login/email', { email: person.email }), [
    'e-mail',
  ]);
  await refuseWrites(database);
  // An exchange then has to write.
  await database.sql`delete from sessions`;
  await everyRpc({ canWrite: false });
  await client.useTokens();
  await admin(ADMIN.createUser, { ...person, email: `x${person.email}` });
  for (const mode of ['reset', 'refuse', 'freeze'] as const) {
    await proxy.setMode(mode);
    await client.useTokens();
    for (const protocol of PROTOCOLS.slice(0, mode === 'freeze' ? 1 : PROTOCOLS.length)) {
      await call(protocol, `a database that does ${mode}`, { method: exchangeToken, fields: { authToken }, headers });
    }
  }
  await proxy.setMode('pass');
}

async function logInOnPage(
  { url, mail }: Surroundings,
  scanner: SecretScanner,
  { email, wallet, beginLogin }: { email: string; wallet: Wallet; beginLogin(): Promise<string> },
) {
  const arrive = async () => {
    const browser = new LoginBrowser({ url });
    const page = await browser.open(`/login?intent=${await beginLogin()}`);
    scanner.keep('browser cookie', browser.cookie?.split('=')[1] ?? '');
    lookAtPage(scanner, 'the login page', page, ['browser cookie']);
    return { browser, page };
  };
  const { browser, page } = await arrive();
  const codePage = await browser.submit(page, '/login/email', { email });
  lookAtPage(scanner, 'the page for the code', codePage, ['e-mail']);
  await expect.poll(() => mail.code).toBeDefined();
  const code = mail.code ?? '';
  scanner.keepWord(code);
  scanner.keep('digest of the code', hash('sha256', code, 'hex'));
  lookAtPage(scanner, 'a wrong code', await browser.submit(codePage, '/login/code', { code: wrongCode(code) }), [
    'e-mail',
  ]);
  const done = await browser.submit(codePage, '/login/code', { code });
  expect(done.location).toContain('authToken=');
  scanner.keep('token', new URL(done.location ?? '').searchParams.get('authToken') ?? '');
  lookAtPage(scanner, 'the end of a login', done, ['token', 'state']);

  const other = await arrive();
  const challenge = await other.browser.submit(other.page, '/login/wallet', { address: wallet.address });
  lookAtPage(scanner, 'a challenge', challenge, ['wallet']);
}

function lookAtPage(
  scanner: SecretScanner,
  where: string,
  { status, headers, body }: LoginPage,
  allowed: readonly string[],
) {
  scanner.lookAt(where, { status, headers, bytes: Buffer.from(body), trailers: {} }, allowed);
}
