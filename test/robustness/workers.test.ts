/** With `WORKERS=2`, two processes serve as one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test, vi } from 'vitest';
import { type HttpClient, openHttpClient, request } from '../support/http.ts';
import { LoginBrowser } from '../support/login-browser.ts';
import { survivorsOf } from '../support/process.ts';
import { administer, answeringWorkers, beginCalls, logOf, readDemo, startWorkers } from '../support/workers.ts';

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const dataDir = await mkdtemp(join(tmpdir(), 'usher-workers-'));
const main = await startWorkers(dataDir);
afterAll(async () => {
  await main?.[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true, force: true });
});

test('both listen on one port, and the start is printed once', async () => {
  const listening = () =>
    logOf(main).flatMap(({ msg, worker, url }) => (msg === 'listening' ? [`${worker} ${url}`] : []));
  await expect.poll(() => listening().sort()).toEqual([`1 ${main.url}`, `2 ${main.url}`]);
  expect(main.stdout.match(/Usher is at/g)).toHaveLength(1);
  expect(main.stderr).toBe('');
});

test('connections are distributed evenly, and each call is logged once', async () => {
  const workers = await answeringWorkers(main, 24);
  expect(workers).toHaveLength(24);
  for (const worker of [1, 2]) expect(workers.filter((other) => other === worker).length).toBeGreaterThan(5);
});

test('both know the public URL, the demo and its secrets', async () => {
  const { apiKey, clientId, webhookId, userId } = await readDemo(dataDir);
  const headers = { 'x-api-key': apiKey };
  const path = `/api/oauth/generate-auth-url?clientId=${clientId}`;
  // As the printed command has it, with a state that the demo issued.
  const body = /generate-auth-url.* -d '([^']+)'/.exec(main.stdout)?.[1] ?? '';
  const beginLogin = async () => {
    const reply = await request(main.url, { method: 'POST', path, headers, body });
    return JSON.parse(reply.body).data;
  };
  const login = { loginIntentId: (await beginLogin()).loginIntentId, userId };
  const { redirectUrl } = await administer<{ redirectUrl: string }>(main, dataDir, 'CompleteLogin', login);
  const { pathname, search } = new URL(redirectUrl);
  for (let call = 0; call < 4; call++) {
    expect((await beginLogin()).authUrl).toMatch(new RegExp(`^${main.url}/login\\?intent=`));
    const browser = new LoginBrowser({ url: main.url });
    expect((await browser.open(pathname + search)).body).toContain('Sign out');
    const webhook = await request(main.url, { path: `/api/webhooks/${webhookId}`, headers });
    expect(webhook.body).toContain('"signingKey":"whsec_');
  }
});

test('a session that one revokes is refused by the other at once', async () => {
  const { apiKey, ...demo } = await readDemo(dataDir);
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  const clients = Array.from({ length: 6 }, () => openHttpClient(main.url, { httpVersion: '1.1' }));
  const callAt = async (client: HttpClient | undefined, path: string, fields: object) => {
    const reply = await client?.send({ path: `/api/${path}`, headers, body: JSON.stringify(fields) });
    return JSON.parse(reply?.body ?? '').data;
  };
  const begun = { redirectUri: demo.redirectUris[0], state: 'state' };
  for (const revoker of clients) {
    const { loginIntentId } = await callAt(revoker, `oauth/generate-auth-url?clientId=${demo.clientId}`, begun);
    const login = { loginIntentId, userId: demo.userId };
    const { authToken } = await administer<{ authToken: string }>(main, dataDir, 'CompleteLogin', login);
    const { session } = await callAt(revoker, 'oauth/exchange', { authToken });
    const check = () =>
      Promise.all(
        clients.map(async (client) => (await callAt(client, 'sessions/check', { sessionId: session.id })).active),
      );
    expect(await check()).toEqual(clients.map(() => true));
    await callAt(revoker, 'sessions/revoke', { sessionId: session.id });
    expect(await check()).toEqual(clients.map(() => false));
  }
  for (const client of clients) client[Symbol.dispose]();
});

test('SIGTERM finishes the calls in flight and leaves no process behind', async () => {
  const descendants = await main.descendants();
  const calls = await beginCalls(main, await readDemo(dataDir), 4);
  const ended = main.end('SIGTERM');
  await sleep(200);
  expect(await Promise.all(calls.map((call) => call.finish()))).toEqual([200, 200, 200, 200]);
  expect(await ended).toBe(0);
  expect(await survivorsOf(descendants)).toEqual([]);
  expect(main.stderr).toBe('');
});
