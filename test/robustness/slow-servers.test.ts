/** A mail server or an issuer that is slow, unreachable or misbehaves delays only the calls that need it. */
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

/** How long Usher waits for the keys of an issuer; for a mail server it waits longer. */
const KEYS_TIMEOUT_MS = 3_000;
/** By how much a busy machine may delay a call. */
const SLACK_MS = 2_500;
const LOAD_MS = quickOrLong(1_200, 8_000);
/** How many times the test of other calls is made: the machine may be busier than that. */
const ATTEMPTS = 3;

type Treat = (socket: Socket) => void;

/** How a server treats a connection; undefined if nothing listens. */
const faults: readonly [name: string, treat: Treat | undefined][] = [
  ['refuses connections', undefined],
  ['sends nothing', () => {}],
  ['returns HTML', (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<!doctype html>')],
  ['sends 100 MB', flood],
];

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

/** Runs with a server that has the fault. */
async function withFault(treat: Treat | undefined, run: (port: number) => Promise<void>) {
  await using server = await SocketServer.start(treat ?? (() => {}));
  // Nothing listens on port 2, and fetch allows it.
  await run(treat ? server.port : 2);
}

/** Returns calls that need no other server. */
const otherCalls = (service: TestService) => ({
  exchangeToken: async () => {
    const { auth } = clientsOf(service, tenant);
    await auth.exchangeToken({ authToken: await logIn(service, tenant, user) });
    return 'ok';
  },
  loginPage: async () => {
    const { path } = await beginLogin(service, tenant);
    return (await new LoginBrowser(service).open(path)).status === 200 ? 'ok' : 'no page';
  },
  readiness: async () => ((await fetch(`${service.url}/readyz`)).ok ? 'ok' : 'not ready'),
});

/** Makes the call that needs the faulty server among other calls, and returns its outcomes. */
async function callAmongOthers(
  context: TestContext,
  service: TestService,
  { name, call, limitMs }: { name: string; call: () => Promise<string>; limitMs: number },
): Promise<Set<string>> {
  for (let attempt = 1; ; attempt++) {
    const load = startLoad(otherCalls(service), { callers: 2, pauseMs: 5 });
    const own = startLoad({ own: call }, { callers: 3, pauseMs: 50 });
    await sleep(LOAD_MS);
    const [others, answers] = await Promise.all([load.stop(), own.stop()]);
    expect(others.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
    const isInTime = longestOf(others) < SLACK_MS && longestOf(answers) < limitMs;
    if (!isInTime && attempt < ATTEMPTS) continue;

    report(context, {
      tried: `${name}: ${answers.length} calls that need it, ${others.length} that do not`,
      figures: `longest ${Math.round(longestOf(answers))} ms, others ${Math.round(longestOf(others))} ms`,
    });
    expect(others.length).toBeGreaterThan(2);
    expect(longestOf(others)).toBeLessThan(SLACK_MS);
    expect(longestOf(answers)).toBeLessThan(limitMs);
    return new Set(answers.map(({ outcome }) => outcome));
  }
}

describe.each(faults)('a server that %s', (name, treat) => {
  const startWith = (settings: Partial<Config>) => startTestService({ database, like: config, config: settings });

  it.concurrent('as the mail server delays no call, not even the page that says a code was sent', async (context) => {
    await withFault(treat, async (port) => {
      const smtp = { url: `smtp://127.0.0.1:${port}`, from: 'login@usher.test' };
      await using service = await startWith({ ...LOGIN_CONFIG, smtp });
      const call = async () => {
        const { email } = await createTestUser(service);
        const browser = new LoginBrowser(service);
        const page = await browser.open((await beginLogin(service, tenant)).path);
        return (await browser.submit(page, '/login/email', { email })).heading;
      };
      const request = { name: `a mail server that ${name}`, call, limitMs: 3 * SLACK_MS };
      expect(await callAmongOthers(context, service, request)).toEqual(new Set(['Check your e-mail']));
    });
  });

  it.concurrent('as the issuer delays only calls with its tokens, for 3 s at most', async (context) => {
    await withFault(treat, async (port) => {
      const authIssuer = { issuer: ISSUER, jwksUrl: `http://127.0.0.1:${port}/keys` };
      await using service = await startWith({ authIssuer });
      const key = generateIssuerKey('EdDSA');
      const call = async () => {
        const iat = Math.floor(Date.now() / 1000);
        const claims = { iss: ISSUER, aud: tenant.clientId, sub: user.id, jti: randomUUID(), iat, exp: iat + 900 };
        const authToken = signToken({ alg: key.alg, typ: 'login+jwt', kid: key.kid }, claims, key);
        const exchanged = clientsOf(service, tenant).auth.exchangeToken({ authToken });
        return exchanged.then(
          () => 'ok',
          ({ rawMessage }) => rawMessage,
        );
      };
      const request = { name: `an issuer that ${name}`, call, limitMs: KEYS_TIMEOUT_MS + SLACK_MS };
      expect(await callAmongOthers(context, service, request)).toEqual(new Set(['Service unavailable']));
    });
  });
});
