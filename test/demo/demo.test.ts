import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DemoTerminal } from '../support/demo-terminal.ts';
import { LoginBrowser, type LoginPage, textOf } from '../support/login-browser.ts';
import { startTestService } from '../support/service.ts';

describe('npm start without settings', () => {
  let directory: string;
  let terminal: DemoTerminal;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'usher-demo-'));
    terminal = await DemoTerminal.start(directory);
  });
  afterAll(async () => {
    await terminal?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  const resultOf = ({ body }: LoginPage) => JSON.parse(textOf(/<pre>(.*?)<\/pre>/s.exec(body)?.[1]));

  it.each(['', 'x', '<script>alert(1)</script>', 'x'.repeat(36), 'é'.repeat(36)])(
    'the demo application shows an answer with the wrong state %j and does not exchange it',
    async (state) => {
      const answer = new URLSearchParams({ authToken: 'x', state });
      const page = await new LoginBrowser({ url: terminal.url }).open(`/demo/callback?${answer}`);
      expect(page).toMatchObject({ status: 200, heading: 'This answer was not meant for us' });
      expect(page.body).not.toMatch(/alert\(1\)<\/script>|session/);
    },
  );

  it('the demo application shows that a person has cancelled', async () => {
    const { browser, page } = await terminal.openLogin();
    expect(page.heading).toBe('Sign in to Demo');
    const back = await terminal.follow(browser, await browser.submit(page, '/login/cancel'));
    expect(back).toMatchObject({ status: 200, heading: 'You did not sign in' });
    expect(resultOf(back)).toEqual({ error: 'access_denied' });
  });

  it('the demo application shows profile and session of a person who signs in with the printed code', async () => {
    const page = await terminal.signIn();
    expect(page).toMatchObject({ status: 200, heading: 'You are signed in' });
    expect(resultOf(page)).toEqual({
      status: true,
      message: 'Token exchanged successfully',
      data: {
        user: expect.objectContaining({ email: terminal.email, name: 'Ada Lovelace' }),
        session: {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      },
    });
    expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });
});

it('an external database has no demo application', async () => {
  await using service = await startTestService();
  const { status, body } = await new LoginBrowser(service).open('/demo/callback?state=x');
  expect({ status, reply: JSON.parse(body) }).toEqual({ status: 404, reply: { status: false, message: 'Not found' } });
});
