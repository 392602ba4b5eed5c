/** What tests of applications need besides Usher: a browser that keeps cookies, and a port. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Follows no redirect, so that a test sees each of them. */
export class CookieBrowser {
  readonly cookies = new Map<string, string>();

  async open(url: string | URL, method = 'GET'): Promise<Response> {
    return this.keep(await fetch(url, { method, headers: { cookie: this.cookie }, redirect: 'manual' }));
  }

  async read(url: string | URL): Promise<string> {
    return (await this.open(url)).text();
  }

  /** Returns where the page redirects to. */
  async follow(url: string | URL): Promise<string> {
    return (await this.open(url)).headers.get('location') ?? '';
  }

  get cookie(): string {
    return [...this.cookies].map((pair) => pair.join('=')).join('; ');
  }

  /** Keeps the cookies of a response. */
  keep(response: Response): Response {
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}

/** Returns a port below those that the system gives to connections, any of which may take it meanwhile. */
export async function findFreePort(): Promise<string> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    const server = createServer();
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return String(port);
  }
}
