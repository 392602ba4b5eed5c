/** The page for consent in Chromium, through a whole sign-in: double clicks, the way back, and pages that frame it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { collectProblems, expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { CLIENT_HOSTS, MCP_SERVER, startClientServers } from '../support/client-metadata.ts';
import { newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { authorizationOf, CODE_VERIFIER, createRsaJwk } from '../support/oidc.ts';
import { basicOf, post } from '../support/oidc-client.ts';
import { servePages } from '../support/openid/serve-pages.ts';
import { createTenant, createTestUser, type Tenant } from '../support/service.ts';

const RESOURCE = 'https://mcp.app.test/mcp';

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  const stack = new AsyncDisposableStack();
  let chrome: Browser;
  let pages: Awaited<ReturnType<typeof servePages>>;
  let clients: Awaited<ReturnType<typeof startClientServers>>;
  let fixture: LoginFixture;
  let shop: Tenant;

  beforeAll(async () => {
    // Its certificate stays trusted when those of the clients' servers no longer are.
    pages = stack.use(await servePages());
    clients = stack.use(await startClientServers());
    const config = {
      ...clients.config,
      publicUrl: undefined,
    };
    fixture = stack.use(await LoginFixture.open({ config, oidcSigningKeys: [createRsaJwk()] }));
    shop = await createTenant(fixture.service, { ...MCP_SERVER, resourceUri: RESOURCE });
    chrome = stack.adopt(await launchChromium(), (browser) => browser.close());
  });
  afterAll(() => stack.disposeAsync());

  /** Signs a new user in, and stops at the question. `answers` has what the client gets, in order. */
  async function arrive() {
    const context = await chrome.newContext({
      viewport: { width: 360, height: 740 },
      ignoreHTTPSErrors: true,
      extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
    });
    onTestFinished(() => context.close());
    const problems = collectProblems(context);
    const page = await context.newPage();
    const redirectUri = `${pages.origin}/callback`;
    const answers: URLSearchParams[] = [];
    page.on('request', (request) => {
      if (request.isNavigationRequest() && request.url().startsWith(`${redirectUri}?`))
        answers.push(new URL(request.url()).searchParams);
    });
    const clientId = clients.add({ redirect_uris: [redirectUri] });
    const query = authorizationOf(
      { clientId },
      { redirect_uri: redirectUri, resource: RESOURCE, scope: 'openid orders:read' },
    );
    const { email } = await createTestUser(fixture.service);
    await page.goto(`http://localhost:${fixture.service.port}/oidc/authorize?${query}`);
    await page.locator('#email').fill(email);
    await page.keyboard.press('Enter');
    await page.locator('#code').waitFor();
    await page.locator('#code').fill(fixture.mailbox.codeFor(email));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
    const allow = page.getByRole('button', { name: 'Allow', exact: true });
    const redeem = (code: string) =>
      post(fixture.service, '/oidc/token', {
        ...{ grant_type: 'authorization_code', client_id: clientId, code, code_verifier: CODE_VERIFIER },
        ...{ redirect_uri: redirectUri, resource: RESOURCE },
      });
    const codes = () => new Set(answers.map((answer) => answer.get('code')));
    return { allow, answers, clientId, codes, page, problems, redeem, redirectUri };
  }

  test('a person allows a client, and goes back before and after it has its tokens', async () => {
    const { allow, answers, codes, page, problems, redeem, redirectUri } = await arrive();
    await expectAccessible(page);
    const text = await page.locator('body').innerText();
    for (const part of ['Assistant', CLIENT_HOSTS, 'Shop MCP', 'See your orders', new URL(redirectUri).host])
      expect(text).toContain(part);
    await allow.click();
    await page.waitForURL(`${redirectUri}?**`);

    // The question is answered, so the way back leads forward again.
    await page.goBack();
    await expect.poll(() => answers.length).toBe(2);
    await page.waitForURL(`${redirectUri}?**`);
    expect(codes().size).toBe(1);
    const { status, body } = await redeem(answers[0]?.get('code') ?? '');
    expect(status).toBe(200);

    await page.goBack();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await allow.count()).toBe(0);
    expect(answers).toHaveLength(2);
    const { body: found } = await post(
      fixture.service,
      '/oidc/introspect',
      { token: body.access_token ?? '' },
      basicOf(shop),
    );
    expect(found).toMatchObject({ active: true, scope: 'openid orders:read' });
    expect(problems).toEqual([]);
  });

  test('a double click allows once', async () => {
    const { allow, answers, clientId, codes, page, problems, redeem, redirectUri } = await arrive();
    await allow.dblclick();
    await page.waitForURL(`${redirectUri}?**`);
    expect(codes().size).toBe(1);
    const { sql } = fixture.service.database;
    expect(await sql`select from usher.consents where client_id = ${clientId}`).toHaveLength(1);
    expect((await redeem(answers[0]?.get('code') ?? '')).status).toBe(200);
    expect(problems).toEqual([]);
  });

  test('a person who has denied and goes back is not asked again', async () => {
    const { allow, answers, page, redirectUri } = await arrive();
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.waitForURL(`${redirectUri}?**`);
    expect(answers.map((answer) => answer.get('error'))).toEqual(['access_denied']);
    await page.goBack();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await allow.count()).toBe(0);
    expect(answers).toHaveLength(1);
  });

  test('no page of another origin frames the question, nor the page for the code of a device', async () => {
    const { page } = await arrive();
    const question = page.url();
    const device = `http://localhost:${fixture.service.port}/device`;
    // Its origin is another one, to which the browser sends its cookies all the same.
    const framing = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://localhost').searchParams.get('url');
      response.setHeader('content-type', 'text/html').end(`<h2>Win a prize</h2><iframe src="${url}"></iframe>`);
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void framing.close());
    await once(framing, 'listening');
    const frame = async (url: string) => {
      const { port } = framing.address() as AddressInfo;
      await page.goto(`http://localhost:${port}/?url=${encodeURIComponent(url)}`);
      return page.frameLocator('iframe').getByRole('heading', { level: 1 });
    };
    for (const [url, heading] of [
      [question, 'Allow access?'],
      [device, 'Sign in a device'],
    ] as const) {
      await frame(url);
      const framed = () => page.frames().find((each) => each !== page.mainFrame());
      await expect.poll(() => framed()?.url(), { message: url }).toBe('chrome-error://chromewebdata/');
      expect(await framed()?.locator('form').count()).toBe(0);

      // What refuses it are its headers: without them the page would be there, with the cookies of the person.
      await page.route(
        ({ href }) => href === url,
        async (route) => {
          const response = await route.fetch();
          const { 'content-security-policy': _, 'x-frame-options': __, ...headers } = response.headers();
          await route.fulfill({ response, headers });
        },
      );
      await (await frame(url)).filter({ hasText: heading }).waitFor();
      await page.unrouteAll();
    }
  });

  test('a wrong code of a device leads back to the emptied field, which the alert describes', async () => {
    const { page } = await arrive();
    await page.goto(`http://localhost:${fixture.service.port}/device`);
    const field = page.locator('#user_code');
    for (const code of ['BBBB-BBBB', 'not a code']) {
      await field.fill(code);
      await page.keyboard.press('Enter');
      await page.locator('[aria-invalid]').waitFor();
      expect(await page.evaluate<string>('document.activeElement.id')).toBe('user_code');
      expect(await field.inputValue()).toBe('');
      expect(await field.getAttribute('aria-describedby')).toBe('alert');
      expect(await page.locator('#alert').textContent()).not.toBe('');
      await expectAccessible(page);
    }
  });
});
