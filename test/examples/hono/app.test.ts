import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../../support/process.ts';
import {
  adminClient,
  createTenant,
  createTestUser,
  startTestService,
  type TestService,
} from '../../support/service.ts';

const APP = join(import.meta.dirname, 'app.ts');

let service: TestService;
let app: { url: string; close(): void };

beforeAll(async () => {
  service = await startTestService({ config: { publicUrl: undefined } });
  const tenant = await createTenant(service, { redirectUris: ['http://127.0.0.1/callback'] });
  app = await startApp({
    USHER_URL: `http://localhost:${service.port}`,
    CLIENT_ID: tenant.clientId,
    API_KEY: tenant.apiKey,
  });
});

afterAll(async () => {
  app.close();
  await service.close();
});

test('a user who signs in at Usher is signed in to the application', async () => {
  const cookies = new Map<string, string>();
  const user = await createTestUser(service);
  expect(await (await open(app.url, cookies)).text()).toContain('Sign in');

  const authUrl = new URL((await open(`${app.url}/login`, cookies)).headers.get('location') ?? '');
  const loginIntentId = authUrl.searchParams.get('intent') ?? '';
  const { redirectUrl } = await adminClient(service).completeLogin({ loginIntentId, userId: user.id });
  const foreign = new URL(redirectUrl);
  foreign.searchParams.set('state', 'of another login');
  expect((await open(foreign.href, cookies)).status).toBe(400);
  expect((await open(redirectUrl, cookies)).status).toBe(302);

  expect(await (await open(app.url, cookies)).text()).toBe(`Signed in as ${user.email}`);
});

test('the README shows the application as it is', async () => {
  const readme = await readFile(join(REPOSITORY, 'README.md'), 'utf8');
  expect(readme.includes(`\`\`\`ts\n${await readFile(APP, 'utf8')}\`\`\``)).toBe(true);
});

async function startApp(env: Record<string, string>) {
  const child = spawn(process.execPath, [APP], { env: { ...env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = await once(createInterface({ input: child.stdout }), 'line');
  return { url: String(url), close: () => void child.kill() };
}

/** Sends the cookies, keeps the new ones, and follows no redirect. */
async function open(url: string, cookies: Map<string, string>): Promise<Response> {
  const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
  const reply = await fetch(url, { headers: { cookie }, redirect: 'manual' });
  for (const header of reply.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
    cookies.set(name, value);
  }
  return reply;
}
