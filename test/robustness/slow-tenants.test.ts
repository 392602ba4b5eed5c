/** A mail server or an issuer that is slow, dead or mad delays nothing but the call that needs it. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { generateIssuerKey, ISSUER, signToken } from '../support/issuer.ts';
import { longestOf, startLoad } from '../support/load.ts';
import { beginLogin, LOGIN_CONFIG, LoginBrowser } from '../support/login-browser.ts';
import { flood, SocketServer } from '../support/mail-server.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
  testConfig,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

/** How long keys may take to come, which is less than Usher waits for a mail server. */
const KEYS_TIMEOUT_MS = 3_000;
/** What a busy machine may add to any call, and how often it may be busier than that. */
const SLACK_MS = 2_500;
const RETRY = { retry: 2 };
const LOAD_MS = quickOrLong(1_200, 8_000);

const html = '<!doctype html><h1>502 Bad Gateway</h1>'.repeat(20);
const httpReply = (status: string, type: string, body: string) =>
  `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** What is there instead of the server: how it treats a connection, or nobody. */
const faults: readonly [name: string, treat: ((socket: Socket) => void) | undefined, isRare?: true][] = [
  ['nobody', undefined],
  ['one that hangs', () => {}],
  ['one that closes', (socket) => socket.destroy(), true],
  ['one that fails', (socket) => socket.write(httpReply('500 Internal Server Error', 'application/json', '{}'))],
  ['one that refuses mail', (socket) => socket.write('554 No service here\r\n'), true],
  ['one with a page of HTML', (socket) => socket.write(httpReply('200 OK', 'text/html', html))],
  ['one that sends a byte at a time', drip, true],
  ['one with 100 MB', flood],
  [
    'one with 100 MB of an answer',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      flood(socket);
    },
    true,
  ],
];

function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('2'), 100);
  socket.once('close', () => clearInterval(timer));
}

let database: TestDatabase;
let config: Config;
let tenant: Tenant;
let user: TestUser;

beforeAll(async () => {
  database = await cloneDatabase();
  config = testConfig(database.url);
  await using service = await startTestService({ database, like: config });
  tenant = await createTenant(service);
  user = await createTestUser(service);
});
afterAll(() => database[Symbol.asyncDispose]());

/** Runs with a server that has the fault, and with nothing on its port where nobody is to be there. */
async function withFault(treat: ((socket: Socket) => void) | undefined, run: (port: number) => Promise<void>) {
  await using server = await SocketServer.start(treat ?? (() => {}));
  const { port } = server;
  if (!treat) await server[Symbol.asyncDispose]();
  await run(port);
}

/** Calls that need neither mail nor keys of others. */
const othersAt = (service: TestService) => ({
  exchange: async () => {
    const { auth } = clientsOf(service, tenant);
    await auth.exchangeToken({ authToken: await logIn(service, tenant, user) });
    return 'ok';
  },
  page: async () => {
    const { path } = await beginLogin(service, tenant);
    return (await new LoginBrowser(service).open(path)).status === 200 ? 'ok' : 'no page';
  },
  ready: async () => ((await fetch(`${service.url}/readyz`)).ok ? 'ok' : 'not ready'),
});

/** Makes the call that needs the other server, again and again, among calls that do not. */
async function callAmongOthers(
  context: TestContext,
  service: TestService,
  { name, call, patienceMs }: { name: string; call: () => Promise<string>; patienceMs: number },
): Promise<Set<string>> {
  const load = startLoad(othersAt(service), { callers: 2, pauseMs: 5 });
  const own = startLoad({ own: call }, { callers: 3, pauseMs: 50 });
  await sleep(LOAD_MS);
  const [others, answers] = await Promise.all([load.stop(), own.stop()]);
  const delayed = others.filter(({ outcome, tookMs }) => outcome !== 'ok' || tookMs > SLACK_MS);
  report(context, {
    tried: `${name}: ${answers.length} calls that need it, ${others.length} that do not`,
    lost: `${delayed.length} others`,
    figures: `longest ${Math.round(longestOf(answers))} ms, others ${Math.round(longestOf(others))} ms`,
  });
  expect(others.length).toBeGreaterThan(2);
  expect(delayed).toEqual([]);
  expect(longestOf(answers)).toBeLessThan(patienceMs);
  return new Set(answers.map(({ outcome }) => outcome));
}

describe.each(faults.filter(([, , isRare]) => quickOrLong(!isRare, true)))('%s in the place of', (name, treat) => {
  it.concurrent('a mail server delays not even the page that says a code is on its way', RETRY, async (context) => {
    await withFault(treat, async (port) => {
      const smtp = { url: `smtp://127.0.0.1:${port}`, from: 'login@usher.test' };
      await using service = await startTestService({ database, like: config, config: { ...LOGIN_CONFIG, smtp } });
      const askForCode = async () => {
        const { email } = await createTestUser(service);
        const browser = new LoginBrowser(service);
        const page = await browser.open((await beginLogin(service, tenant)).path);
        return (await browser.submit(page, '/login/email', { email })).heading;
      };
      const headings = await callAmongOthers(context, service, {
        name: `mail server: ${name}`,
        call: askForCode,
        patienceMs: 3 * SLACK_MS,
      });
      expect(headings).toEqual(new Set(['Check your e-mail']));
    });
  });

  it.concurrent('an issuer’s key set makes its tokens wait for 3 s at most, and no others', RETRY, async (context) => {
    await withFault(treat, async (port) => {
      const authIssuer = { issuer: ISSUER, jwksUrl: `http://127.0.0.1:${port}/keys` };
      await using service = await startTestService({ database, like: config, config: { authIssuer } });
      const key = generateIssuerKey('EdDSA');
      const exchange = async () => {
        const iat = Math.floor(Date.now() / 1000);
        const claims = { iss: ISSUER, aud: tenant.clientId, sub: user.id, jti: randomUUID(), iat, exp: iat + 900 };
        const authToken = signToken({ alg: key.alg, typ: 'login+jwt', kid: key.kid }, claims, key);
        return clientsOf(service, tenant)
          .auth.exchangeToken({ authToken })
          .then(
            () => 'ok',
            ({ rawMessage }) => rawMessage,
          );
      };
      const messages = await callAmongOthers(context, service, {
        name: `key set: ${name}`,
        call: exchange,
        patienceMs: KEYS_TIMEOUT_MS + SLACK_MS,
      });
      expect(messages).toEqual(new Set(['Service unavailable']));
    });
  });
});
