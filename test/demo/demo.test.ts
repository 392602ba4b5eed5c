import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bootstrap } from '../../src/bootstrap.ts';
import { createLogger } from '../../src/log.ts';
import { startServer, type UsherServer } from '../../src/server.ts';
import { cloneDatabase } from '../support/database.ts';
import { LOGIN_CONFIG, LoginBrowser, type LoginPage, textOf } from '../support/login-browser.ts';
import { Mailbox } from '../support/mail-server.ts';
import { startTestService, testConfig } from '../support/service.ts';

describe('the demo application', () => {
  const mailbox = new Mailbox();
  const disposables = new AsyncDisposableStack();
  let service: UsherServer;

  beforeAll(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'usher-demo-'));
    disposables.defer(() => rm(dataDir, { recursive: true, force: true }));
    const database = disposables.use(await cloneDatabase());
    const config = { ...testConfig(database.url), ...LOGIN_CONFIG, publicUrl: undefined, dataDir };
    // As on an embedded Postgres, which takes seconds to create.
    const logger = createLogger('silent');
    const base = { ...disposables.use(await bootstrap(config, { logger })), isEmbedded: true };
    service = await startServer(config, { bootstrap: base, deliver: mailbox.deliver, logger });
    disposables.defer(() => service.close());
  });
  afterAll(() => disposables.disposeAsync());

  const resultOf = ({ body }: LoginPage) => JSON.parse(textOf(/<pre>(.*?)<\/pre>/s.exec(body)?.[1]));

  /** Opens the login page that the start prints. */
  async function openLogin() {
    const { origin, pathname, search } = new URL(service.demo?.authUrl ?? '');
    const browser = new LoginBrowser({ url: origin });
    const page = await browser.open(pathname + search);
    expect(page.heading).toBe('Sign in to Demo');
    return { browser, page };
  }

  /** Follows the redirect to the demo application. */
  async function follow(browser: LoginBrowser, { status, location = '' }: LoginPage): Promise<LoginPage> {
    expect(status).toBe(303);
    const { origin, pathname, search } = new URL(location);
    expect(origin + pathname).toBe(service.demo?.redirectUri);
    return browser.open(pathname + search);
  }

  it.each(['', 'x', '<script>alert(1)</script>', 'x'.repeat(36), 'é'.repeat(36)])(
    'shows an answer with the wrong state %j and does not exchange it',
    async (state) => {
      const answer = new URLSearchParams({ authToken: 'x', state });
      const page = await new LoginBrowser(service).open(`/demo/callback?${answer}`);
      expect(page).toMatchObject({ status: 200, heading: 'This answer was not meant for us' });
      expect(page.body).not.toMatch(/alert\(1\)<\/script>|session/);
    },
  );

  it('shows that a person has cancelled', async () => {
    const { browser, page } = await openLogin();
    const back = await follow(browser, await browser.submit(page, '/login/cancel'));
    expect(back).toMatchObject({ status: 200, heading: 'You did not sign in' });
    expect(resultOf(back)).toEqual({ error: 'access_denied' });
  });

  it('lets a person who tries it sign in many times an hour', async () => {
    const { email = '' } = service.demo ?? {};
    for (let count = 0; count < 12; count++) {
      const { browser, page } = await openLogin();
      expect(await browser.submit(page, '/login/email', { email })).toMatchObject({ heading: 'Check your e-mail' });
    }
  });

  it('shows profile and session of a person who signs in with the code', async () => {
    const { email = '' } = service.demo ?? {};
    const { browser, page } = await openLogin();
    const codePage = await browser.submit(page, '/login/email', { email });
    const code = mailbox.codeFor(email);
    const back = await follow(browser, await browser.submit(codePage, '/login/code', { code }));
    expect(back).toMatchObject({ status: 200, heading: 'You are signed in' });
    const { user, session } = resultOf(back).data;
    expect(user).toMatchObject({ email, name: 'Ada Lovelace' });
    expect(session.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(back.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(back.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });
});

it('an external database has no demo application', async () => {
  await using service = await startTestService();
  const { status, body } = await new LoginBrowser(service).open('/demo/callback?state=x');
  expect({ status, reply: JSON.parse(body) }).toEqual({
    status: 404,
    reply: { status: false, message: 'Not found', reason: 'NOT_FOUND' },
  });
});
