/** What a service pays for the check of a session on each request, beside ways that others have. */
import { generateKeyPairSync } from 'node:crypto';
import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { jwtVerify, SignJWT } from 'jose';
import { afterAll, expect, test } from 'vitest';
import { SessionChecks } from '../../../src/client/session-checks.ts';
import { createUsherClient } from '../../../src/client/usher-client.ts';
import { beginSession, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const ROUNDS = 5;
const service = await startTestService();
afterAll(() => service.close());

async function openChecks(options: { boundMs?: number; maxStalenessMs?: number }) {
  const tenant = await createTenant(service);
  const sessionId = await beginSession(service, tenant, await createTestUser(service));
  const client = createUsherClient({ baseUrl: service.url, apiKey: tenant.apiKey });
  const checks = new SessionChecks({ client, timeoutMs: 2_000, ...options });
  return async () => (await checks.find(sessionId)) !== undefined;
}

async function openToken() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const token = await new SignJWT({}).setProtectedHeader({ alg: 'EdDSA' }).setExpirationTime('1h').sign(privateKey);
  return async () => (await jwtVerify(token, publicKey)).payload.exp !== undefined;
}

async function openCookieCache() {
  const auth = betterAuth({
    baseURL: 'http://127.0.0.1',
    secret: 'a secret of the benchmark, which is no secret',
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    emailAndPassword: { enabled: true },
    session: { cookieCache: { enabled: true, maxAge: 300 } },
    telemetry: { enabled: false },
  });
  const body = { email: 'ada@example.com', name: 'Ada', password: 'a password of the benchmark' };
  const response = await auth.api.signUpEmail({ body, asResponse: true });
  const cookie = response.headers.getSetCookie().map((each) => each.split(';')[0]);
  const headers = new Headers({ cookie: cookie.join('; ') });
  return async () => (await auth.api.getSession({ headers })) !== null;
}

/** Returns the median time and the CPU time of a check, in microseconds. */
async function measure(check: () => Promise<boolean>, count: number) {
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let at = 0; at < count; at++) {
    const startedAt = performance.now();
    if (!(await check())) throw new Error('The session is not live');
    times.push(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(before);
  return { p50: (times.sort((one, other) => one - other)[count >> 1] ?? 0) * 1_000, cpu: (user + system) / count };
}

test('a check in memory costs less than the verification of a token', async () => {
  const subjects = {
    'Usher, boundMs 2000': { check: await openChecks({ boundMs: 2_000 }), count: 20_000 },
    'Usher, maxStalenessMs 5000': { check: await openChecks({}), count: 20_000 },
    'Usher, maxStalenessMs 0': { check: await openChecks({ maxStalenessMs: 0 }), count: 500 },
    'better-auth, cookie cache': { check: await openCookieCache(), count: 2_000 },
    'jose, Ed25519 token': { check: await openToken(), count: 2_000 },
  };
  const results = Object.fromEntries(
    Object.keys(subjects).map((name) => [name, { p50: [], cpu: [] }]),
  ) as unknown as Record<string, { p50: number[]; cpu: number[] }>;
  // The first round warms up. Rounds take turns, so that a busy machine slows all of them.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, { check, count }] of Object.entries(subjects)) {
      const { p50, cpu } = await measure(check, count);
      if (round > 0) {
        results[name]?.p50.push(p50);
        results[name]?.cpu.push(cpu);
      }
    }
  }
  const medianOf = (values: number[] = []) =>
    values.sort((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
  const rows = Object.entries(results).map(([name, { p50, cpu }]) => ({
    name,
    'p50 in us': medianOf(p50).toFixed(1),
    'CPU in us': medianOf(cpu).toFixed(1),
  }));
  console.table(rows);
  expect(medianOf(results['Usher, boundMs 2000']?.cpu)).toBeLessThan(medianOf(results['jose, Ed25519 token']?.cpu));
});
