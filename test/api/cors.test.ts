/** The headers that let pages of other origins call. In a browser: test/robustness/cors-browser.test.ts. */
import { afterAll, describe, expect, test } from 'vitest';
import { type HttpRequest, request } from '../support/http.ts';
import { startTestService, type TestService } from '../support/service.ts';

const GET_EVENT = '/usher.v1.EventService/GetEvent';
const ORIGIN = 'https://tools.test';

const open = await startTestService({ config: { corsOrigins: [ORIGIN] } });
const closed = await startTestService({ database: open.database, like: open.config, config: { corsOrigins: [] } });

afterAll(async () => {
  await closed.close();
  await open.close();
});

describe('the headers', () => {
  const PREFLIGHT = { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } };
  /** Returns the status and the headers that browsers look at. */
  async function ask(
    { url }: TestService,
    path: string,
    origin: string | undefined,
    options: Partial<HttpRequest> = {},
  ) {
    const { method = 'GET', headers, httpVersion = '1.1' } = options;
    const sent = { ...headers, ...(origin && { origin }) };
    const reply = await request(url, { method, path, headers: sent, httpVersion });
    const { vary, ...others } = reply.headers;
    const allow = Object.entries(others).filter(([name]) => name.startsWith('access-control'));
    return { status: reply.status, vary, ...Object.fromEntries(allow) };
  }

  const preflight = {
    status: 200,
    vary: 'Origin',
    'access-control-allow-origin': ORIGIN,
    'access-control-allow-methods': expect.stringMatching(/POST.*GET.*DELETE/),
    'access-control-allow-headers': expect.stringMatching(/Connect-Protocol-Version.*X-API-Key/i),
    'access-control-max-age': '7200',
  };
  const readable = {
    vary: 'Origin',
    'access-control-allow-origin': ORIGIN,
    'access-control-expose-headers': expect.stringMatching(/Grpc-Status-Details-Bin.*X-Request-Id/i),
  };

  test.each(['1.1', '2'] as const)('name the allowed origin alone, over HTTP/%s', async (httpVersion) => {
    for (const path of ['/api/events', GET_EVENT]) {
      expect(await ask(open, path, ORIGIN, { ...PREFLIGHT, httpVersion }), path).toEqual(preflight);
      for (const origin of [undefined, 'https://evil.test', 'null', `${ORIGIN}.evil.test`, 'http://tools.test']) {
        const refused = await ask(open, path, origin, { ...PREFLIGHT, httpVersion });
        expect(refused, `${path} ${origin}`).toEqual({ status: 405, vary: 'Origin' });
      }
    }
    expect(await ask(open, '/api/events', ORIGIN, { httpVersion })).toEqual({ status: 401, ...readable });
    const headers = { 'content-type': 'application/grpc-web+proto' };
    const unknown = { method: 'POST', headers, httpVersion };
    expect(await ask(open, '/usher.v1.EventService/No', ORIGIN, unknown)).toEqual({ status: 200, ...readable });
  });

  test('keep the Origin in Vary where a response varies with its encoding, too', async () => {
    for (const path of ['/openapi.json', '/connect.json']) {
      const reply = await ask(open, path, ORIGIN);
      expect(reply, path).toEqual({ status: 200, ...readable, vary: 'Origin, accept-encoding' });
    }
  });

  test('let no page send an admin key', async () => {
    expect(JSON.stringify(await ask(open, GET_EVENT, ORIGIN, PREFLIGHT))).not.toMatch(/admin/i);
  });

  test('are missing on the login page, and everywhere without CORS_ORIGINS', async () => {
    expect(await ask(open, '/login', ORIGIN)).toEqual({ status: 404, vary: 'accept-language' });
    expect(await ask(closed, '/api/events', ORIGIN)).toEqual({ status: 401, vary: undefined });
    expect(await ask(closed, '/api/events', ORIGIN, PREFLIGHT)).toEqual({ status: 405, vary: undefined });
  });
});
