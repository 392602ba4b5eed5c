/** Runs an example application, and a browser that visits it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { CookieBrowser } from '../examples/testing/browser.ts';
import { findFreePort } from './free-port.ts';
import { adminClient, createTenant, createTestUser, startTestService } from './service.ts';

export interface ExampleApplication {
  readonly url: string;
  /** Returns what it has printed since. */
  output(): string;
  close(): void;
}

/** Starts the file, or Node with these arguments, on a free port. Resolves when it prints its URL. */
export async function startExample(
  path: string | readonly string[],
  env: Record<string, string>,
  node = process.execPath,
): Promise<ExampleApplication> {
  const child = spawn(node, [path].flat(), {
    // Express logs the errors that a test provokes unless it is told.
    env: { PORT: String(await findFreePort()), NODE_ENV: 'test', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), once(child, 'exit')]);
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  return { url: String(url), output: () => output, close: () => void child.kill() };
}

/** A browser whose users sign in at Usher. */
export class ExampleBrowser extends CookieBrowser {
  /**
   * Starts a login at `/login`, also by OpenID Connect, and signs the user in at Usher. Returns where Usher sends the
   * browser.
   */
  async signIn(application: string, service: { url: string }, user: { id: string }): Promise<string> {
    const follow = async (url: string) => new URL((await this.open(url)).headers.get('location') ?? '');
    const asked = await follow(`${application}/login`);
    const page = asked.searchParams.has('intent') ? asked : await follow(asked.href);
    const loginIntentId = page.searchParams.get('intent') ?? '';
    return (await adminClient(service).completeLogin({ loginIntentId, userId: user.id })).redirectUrl;
  }
}

/** Signs a new user in to the application, which refuses browsers that have not started the login. */
export async function expectSignIn(app: { url: string }, service: { url: string }): Promise<void> {
  const browser = new ExampleBrowser();
  const user = await createTestUser(service);
  expect(await browser.read(app.url)).toContain('Sign in');
  const callback = await browser.signIn(app.url, service, user);
  expect((await new ExampleBrowser().open(callback)).status).toBe(400);
  const foreign = callback.replace(/([?&]state=)[^&]+/, '$1another');
  if (foreign !== callback) expect((await browser.open(foreign)).status).toBe(400);
  expect((await browser.open(callback)).headers.get('location')).toBe('/');
  expect(await browser.read(app.url)).toBe(`Signed in as ${user.email}`);
}

/** Signs a user in to the application, and out again. @throws if a page is not the expected one */
export async function expectLogin(path: string, node?: string): Promise<void> {
  await using service = await startTestService({ config: { publicUrl: undefined } });
  const tenant = await createTenant(service, { redirectUris: ['http://127.0.0.1/callback'] });
  const env = { USHER_URL: `http://localhost:${service.port}`, CLIENT_ID: tenant.clientId, API_KEY: tenant.apiKey };
  const app = await startExample(path, env, node);
  try {
    const user = await createTestUser(service);
    const browser = new ExampleBrowser();
    expect(await browser.read(app.url)).toContain('Sign in');
    const callback = await browser.signIn(app.url, service, user);
    // Another browser has not started this login: it starts one of its own.
    expect((await new ExampleBrowser().open(callback)).headers.get('location')).toContain('/login?intent=');
    expect((await browser.open(callback)).headers.get('location')).toBe('/');
    expect(await browser.read(app.url)).toContain(`Signed in as ${user.email}`);

    expect(await browser.read(`${app.url}/payment`)).toContain('You signed in');
    expect((await new ExampleBrowser().open(`${app.url}/payment`)).status).toBe(303);

    const copy = new ExampleBrowser();
    for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
    await browser.open(`${app.url}/logout`, 'POST');
    expect(browser.cookies.size).toBe(0);
    expect(await copy.read(app.url)).toContain('Sign in');
  } finally {
    app.close();
  }
}
