/** Judges an example that checks sessions in memory, by the three rules of the guide. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'vitest';
import { TcpProxy } from '../../src/testing/tcp-proxy.ts';
import { adminClient, beginSession, clientsOf, createTenant, createTestUser, startTestService } from './service.ts';

const BOUND_MS = 1_000;
const ENDED = 'signed out';
/** How long an answer of Usher is on its way, at most. */
const ARRIVAL_MS = 500;
/** How often a revocation meets answers that are held back. */
const TRIES = 3;

export async function expectSessionReader(
  [program, ...parameters]: readonly [string, ...string[]],
  given: Record<string, string> = {},
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const service = stack.use(await startTestService());
  const network = stack.use(await TcpProxy.open(`postgres://127.0.0.1:${service.port}/`));
  const tenant = await createTenant(service, { resourceUri: 'https://resource.test', openIdConnect: true });
  const { sessions } = clientsOf(service, tenant);
  const { sql } = service.database;
  const env = {
    ...{ USHER_URL: network.through('http://127.0.0.1'), API_KEY: tenant.apiKey },
    ...{ BOUND: `${BOUND_MS}ms`, BOUND_SECONDS: String(BOUND_MS / 1_000), ...given },
  };
  const child = spawn(program, parameters, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  stack.defer(() => void child.kill('SIGKILL'));
  const ask = askIn(child);

  const begin = async () => {
    const user = await createTestUser(service);
    return { userId: user.id, id: await beginSession(service, tenant, user) };
  };
  /** Returns what it answers while it cannot ask. */
  const askOffline = async (id: string) => {
    await network.setMode('freeze');
    const answer = await ask(id);
    await network.setMode('pass');
    return answer;
  };
  const expectInMemory = async ({ id, userId }: { id: string; userId: string }) => {
    await expect.poll(() => ask(id).then(() => askOffline(id)), { interval: ARRIVAL_MS }).toBe(userId);
  };
  const expectToAsk = async (id: string) => expect(await askOffline(id)).toMatch(/unavailable|deadline/i);

  const [other, person] = [await begin(), await begin()];
  for (const each of [other, person]) await expectInMemory(each);

  // Rule 1: a lost network, a stopped process, an answer that is held back.
  await network.setMode('freeze');
  await sleep(BOUND_MS + 100);
  expect(await ask(other.id)).toMatch(/unavailable|deadline/i);
  await network.setMode('pass');
  await expectInMemory(person);
  child.kill('SIGSTOP');
  await sessions.revokeSession({ sessionId: person.id });
  const afterwards = ask(person.id);
  await sleep(BOUND_MS + 100);
  child.kill('SIGCONT');
  expect(await afterwards).toBe(ENDED);
  for (let time = 0; time < TRIES; time++) {
    const each = await begin();
    await expectInMemory(each);
    network.holdMs = 0.8 * BOUND_MS;
    await sleep((1 + time / 5) * BOUND_MS);
    await sessions.revokeSession({ sessionId: each.id });
    await sleep(BOUND_MS + 5);
    expect(await ask(each.id)).not.toBe(each.userId);
    network.holdMs = 0;
  }

  // Rule 2: what ends while nothing is heard, with and without a chain that goes on.
  const [revoked, restored] = [await begin(), await begin()];
  for (const each of [revoked, restored]) await expectInMemory(each);
  await network.setMode('freeze');
  await sessions.revokeSession({ sessionId: revoked.id });
  await sleep(1.5 * BOUND_MS);
  await network.setMode('pass');
  await sleep(1.5 * BOUND_MS);
  expect(await ask(revoked.id)).toBe(ENDED);
  await expectInMemory(restored);
  // A table that was written anew has another epoch. Nothing tells of what it has lost.
  await sql`vacuum full session_cutoffs`;
  await sql`delete from sessions where user_id = ${restored.userId}`;
  await sleep(BOUND_MS);
  expect(await ask(restored.id)).toBe(ENDED);

  // Rule 3: a cut-off at the sign-in ends it. What begins afterwards lives, and others stay in memory.
  const user = await createTestUser(service);
  const before = { userId: user.id, id: await beginSession(service, tenant, user) };
  for (const each of [before, other]) await expectInMemory(each);
  const { session } = await sessions.checkSession({ sessionId: before.id });
  const signedInAt = session?.signedInAt ? timestampDate(session.signedInAt) : new Date(0);
  await sql`insert into session_cutoffs (application_id, user_id, cutoff_at, expires_at)
    values (${tenant.id}, ${user.id}, ${signedInAt}, 'infinity')`;
  await sleep(BOUND_MS);
  expect(await ask(before.id)).toBe(ENDED);
  await expect.poll(() => askOffline(other.id), { interval: ARRIVAL_MS }).toBe(other.userId);
  await expectInMemory({ userId: user.id, id: await beginSession(service, tenant, user) });
  await adminClient(service).updateApplication({ applicationId: tenant.id, requiredAssurance: 'PHISHING_RESISTANT' });
  await sleep(BOUND_MS);
  await expectToAsk(other.id);
}

/** Returns a function that writes a line to the program, and returns the next line of its answers. */
function askIn({ stdin, stdout }: ChildProcess): (line: string) => Promise<string> {
  if (!stdin || !stdout) throw new Error('The program has no pipes');
  const lines = createInterface({ input: stdout });
  return async (line) => {
    stdin.write(`${line}\n`);
    const [answer] = await once(lines, 'line');
    return String(answer);
  };
}
