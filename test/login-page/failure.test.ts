import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginLogin, LOGIN_CONFIG, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { createTenant, startTestService, type TestService } from '../support/service.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ config: LOGIN_CONFIG });
});

afterAll(() => service.close());

describe('the login page', () => {
  it('asks how to sign in where the address a code went to has been garbled', async () => {
    const { loginIntentId, path } = await beginLogin(service, await createTenant(service));
    const browser = new LoginBrowser(service);
    await browser.open(path);
    browser.cookie = `${browser.cookie}; usher-email=%ZZ`;
    const page = await browser.open(`/login/code?intent=${loginIntentId}`);
    expect(page.status).toBe(200);
    expect(page.heading).toBe('Sign in to Test application');
  });

  it('lets in a hundred visits at a time, whatever they wait for, and tells the others to come again', async () => {
    const { database, config } = service;
    await using proxy = await TcpProxy.open(database.url);
    await using slow = await startTestService({
      database,
      like: config,
      config: { databaseUrl: proxy.through(database.url) },
    });
    const visit = () => new LoginBrowser(slow).open(`/login?intent=${randomUUID()}`);
    expect((await visit()).status).toBe(404);
    await proxy.setMode('freeze');
    const refused: LoginPage[] = [];
    const crowd = Array.from({ length: 140 }, async () => {
      const page = await visit();
      if (page.status === 503) refused.push(page);
      return page.status;
    });
    await expect.poll(() => refused.length).toBe(40);
    expect(refused[0]).toMatchObject({ heading: 'We cannot sign you in right now', headers: { 'retry-after': '1' } });
    await proxy.setMode('pass');
    expect((await Promise.all(crowd)).filter((status) => status === 404)).toHaveLength(100);
    expect((await visit()).status).toBe(404);
  });

  it('says so, and nothing of why, when something unforeseen goes wrong', async () => {
    await service.database.sql`alter table login_intents rename to moved`;
    const page = await new LoginBrowser(service).open(`/login?intent=${randomUUID()}`);
    expect(page.status).toBe(500);
    expect(page.heading).toBe('We cannot sign you in right now');
    expect(page.body).not.toContain('login_intents');
  });
});
