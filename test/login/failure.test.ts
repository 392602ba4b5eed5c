import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginLogin, LOGIN_CONFIG, LoginBrowser } from '../support/login-browser.ts';
import { createTenant, startTestService, type TestService } from '../support/service.ts';

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

  it('says so, and nothing of why, when something unforeseen goes wrong', async () => {
    await service.database.sql`alter table login_intents rename to moved`;
    const page = await new LoginBrowser(service).open(`/login?intent=${randomUUID()}`);
    expect(page.status).toBe(500);
    expect(page.heading).toBe('We cannot sign you in right now');
    expect(page.body).not.toContain('login_intents');
  });
});
