/** Calls from pages of other origins in a real browser. */
import { createServer } from 'node:http';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { REPOSITORY } from '../support/process.ts';
import { createTenant, createTestEvent, startTestService, type Tenant, type TestService } from '../support/service.ts';

/** What a page does: both RPC protocols of browsers, and REST. */
const SCRIPT = `
  import { createClient, ConnectError } from '@connectrpc/connect';
  import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web';
  import { EventService } from './gen/usher/v1/event_pb.ts';

  const transports = { connect: createConnectTransport, 'grpc-web': createGrpcWebTransport };

  globalThis.callRpc = async (protocol, baseUrl, apiKey, eventId) => {
    const client = createClient(EventService, transports[protocol]({ baseUrl }));
    try {
      const reply = await client.getEvent({ eventId }, { headers: { 'X-API-Key': apiKey }, timeoutMs: 60_000 });
      return reply.event.eventId;
    } catch (error) {
      const { rawMessage, details, metadata } = ConnectError.from(error);
      return { message: rawMessage, details: details.map(({ type }) => type), requestId: metadata.get('x-request-id') };
    }
  };

  globalThis.callRest = async (method, url, apiKey) => {
    try {
      const reply = await fetch(url, { method, headers: { 'X-API-Key': apiKey } });
      return { message: (await reply.json()).message, requestId: reply.headers.get('x-request-id') };
    } catch (error) {
      return { message: error.message };
    }
  };
`;

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let chrome: Browser;
  let bundle: string;
  const stack = new AsyncDisposableStack();
  /** The page of an origin that is allowed, and that of another. */
  let allowed: Page;
  let foreign: Page;
  let service: TestService;
  let tenant: Tenant;

  beforeAll(async () => {
    const stdin = { contents: SCRIPT, resolveDir: REPOSITORY };
    const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', write: false });
    bundle = outputFiles[0]?.text ?? '';
    chrome = await launchChromium();
    stack.defer(() => chrome.close());
    const [allowedOrigin, foreignOrigin] = [await servePage(), await servePage()];
    service = stack.use(await startTestService({ config: { corsOrigins: ['https://other.test', allowedOrigin] } }));
    tenant = await createTenant(service);
    await createTestEvent(service, tenant, 'party');
    [allowed, foreign] = [await openPage(allowedOrigin), await openPage(foreignOrigin)];
  });

  afterAll(() => stack.disposeAsync());

  /** Returns the origin. */
  async function servePage(): Promise<string> {
    const server = createServer((_, response) => {
      response
        .setHeader('content-type', 'text/html')
        .end(`<script type="module">${bundle.replaceAll('</script', '<\\/script')}</script>`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stack.defer(() => void server.close());
    const address = server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  }

  async function openPage(origin: string): Promise<Page> {
    const page = await chrome.newPage();
    await page.goto(origin);
    await page.waitForFunction('globalThis.callRest');
    return page;
  }

  const evaluate = (page: Page, name: string, ...args: string[]) =>
    page.evaluate(`${name}(${args.map((argument) => JSON.stringify(argument)).join()})`);

  test.each(['connect', 'grpc-web'])(
    'a page of an allowed origin calls over %s, and reads errors whole',
    async (protocol) => {
      expect(await evaluate(allowed, 'callRpc', protocol, service.url, tenant.apiKey, 'party')).toBe('party');
      expect(await evaluate(allowed, 'callRpc', protocol, service.url, tenant.apiKey, '')).toEqual({
        message: 'Validation failed',
        details: ['google.rpc.BadRequest', 'google.rpc.ErrorInfo'],
        requestId: expect.any(String),
      });
    },
  );

  test('a page of an allowed origin calls over REST', async () => {
    const url = `${service.url}/api/events/none`;
    const reply = { message: 'Event not found', requestId: expect.any(String) };
    expect(await evaluate(allowed, 'callRest', 'GET', url, tenant.apiKey)).toEqual(reply);
    expect(await evaluate(allowed, 'callRest', 'DELETE', url, tenant.apiKey)).toEqual(reply);
  });

  test('a page of another origin can call nothing', async () => {
    expect(await evaluate(foreign, 'callRest', 'DELETE', `${service.url}/api/events/party`, tenant.apiKey)).toEqual({
      message: 'Failed to fetch',
    });
    expect(await evaluate(foreign, 'callRpc', 'connect', service.url, tenant.apiKey, 'party')).toMatchObject({
      message: 'Failed to fetch',
    });
    expect(await evaluate(allowed, 'callRpc', 'connect', service.url, tenant.apiKey, 'party')).toBe('party');
  });
});
