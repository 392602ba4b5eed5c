/** A small client application: a page that starts a login, and the callback that finishes it. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from './http.ts';
import type { Tenant } from './service.ts';

/** The redirect URI to register. It matches any port. */
export const CALLBACK = 'http://127.0.0.1/callback';

/** Starts it with the URL of Usher and the `iss` that it accepts. */
export async function startClientApplication(usher: string, issuer: string, { clientId, apiKey }: Tenant) {
  const call = async (path: string, body: unknown): Promise<{ status: boolean; data?: { authUrl?: string } }> => {
    const headers = { 'x-api-key': apiKey };
    const reply = await request(usher, { method: 'POST', path, headers, body: JSON.stringify(body) });
    return JSON.parse(reply.body);
  };

  /** Checks state and issuer, exchanges the token, and returns the title and the details to show. */
  const finish = async (answer: URLSearchParams, cookie = ''): Promise<[title: string, details: unknown]> => {
    const state = answer.get('state');
    if (!state || !cookie.split('; ').includes(`state=${state}`)) return ['Another state', state];
    if (answer.get('iss') !== issuer) return ['Another issuer', answer.get('iss')];
    if (answer.has('error')) return ['Not signed in', answer.get('error')];
    const { status, data } = await call('/api/oauth/exchange', { authToken: answer.get('authToken') });
    return [status ? 'Signed in' : 'Refused', data];
  };

  const server = createServer(async (incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '', url);
    if (pathname === '/callback') {
      const [title, details] = await finish(searchParams, incoming.headers.cookie);
      const json = JSON.stringify(details).replaceAll('<', '\\u003c');
      response
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
        .end(`<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1><pre>${json}</pre></html>`);
    } else if (pathname === '/') {
      const state = randomBytes(16).toString('hex');
      const redirectUri = new URL('/callback', url).href;
      const { data } = await call(`/api/oauth/generate-auth-url?clientId=${clientId}`, { redirectUri, state });
      const cookie = `state=${state}; Path=/; HttpOnly; SameSite=Lax`;
      response.writeHead(302, { location: data?.authUrl ?? '', 'set-cookie': cookie }).end();
    } else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server has an AddressInfo.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
