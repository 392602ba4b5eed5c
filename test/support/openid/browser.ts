/** A browser without JavaScript that walks from an authorization request to the client's redirect URI. */
import { once } from 'node:events';
import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { text } from 'node:stream/consumers';
import { type HttpReply, request } from '../http.ts';
import { textOf } from '../login-browser.ts';

export interface Form {
  readonly action: string;
  readonly method: string;
  /** The initial values of its fields, by name. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface Page extends Reply {
  readonly url: string;
  readonly forms: readonly Form[];
}

/** How to reach the provider: its issuer may be a name that no machine has. */
export interface Route {
  readonly issuer: string;
  /** Where the provider listens. Over TLS it is the issuer. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a request gets, from the provider or a client. */
export type Reply = Pick<HttpReply, 'status' | 'body' | 'cookies'> & {
  readonly headers: Readonly<Record<string, unknown>>;
};

export class Browser {
  readonly #route: Route;
  readonly #client: string;
  /** By host: clients in tests are on another one than the provider. */
  readonly #cookies = new Map<string, Map<string, string>>();

  /** @param client the origin of a client that the browser visits, too */
  constructor(route: Route, client?: string) {
    this.#route = route;
    this.#client = client ?? route.issuer;
  }

  /** Opens the address and follows redirects as long as they stay at the provider or at the client. */
  async open(url: string, body?: Readonly<Record<string, string>> | URLSearchParams): Promise<Page> {
    const reply = await this.#send(url, body && new URLSearchParams(body).toString());
    for (const cookie of reply.cookies) this.#keep(new URL(url).hostname, cookie);
    const page = { ...reply, url, forms: readForms(reply.body) };
    const location = this.locationOf(page);
    const isVisited = [this.#route.issuer, this.#client].some((origin) => location?.startsWith(origin));
    return location !== undefined && isVisited ? this.open(location) : page;
  }

  /** Fills in the form and submits it. */
  submit(page: Page, { action, method, fields }: Form, typed: Readonly<Record<string, string>> = {}): Promise<Page> {
    const filled = { ...fields, ...typed };
    const target = new URL(action, page.url).href;
    return method === 'post'
      ? this.open(target, filled)
      : this.open(`${target.split('?')[0]}?${new URLSearchParams(filled)}`);
  }

  /** Returns where the page sends the browser. */
  locationOf({ url, headers }: Page): string | undefined {
    const { location } = headers;
    return typeof location === 'string' ? new URL(location, url).href : undefined;
  }

  #send(url: string, body: string | undefined): Promise<Reply> {
    const cookies = this.#cookies.get(new URL(url).hostname) ?? [];
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const headers = {
      ...(cookie && { cookie }),
      ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    };
    return exchange(this.#route, url, { headers, body });
  }

  #keep(host: string, cookie: string): void {
    const cookies = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, cookies);
    const [pair = '', ...attributes] = cookie.split(';');
    const [name = '', ...value] = pair.split('=');
    const isOver = attributes.some((attribute) => /^ *(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute));
    if (isOver) cookies.delete(name);
    else cookies.set(name, value.join('='));
  }
}

/** Sends one request, to the provider by its route. */
export async function exchange(
  { issuer, url: base, headers: routed }: Route,
  url: string,
  { method, headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string | undefined },
): Promise<Reply> {
  const { host, pathname, search } = new URL(url);
  if (url.startsWith(issuer) && issuer !== base) {
    const all = { host, ...routed, ...headers };
    return request(base, { ...(method && { method }), path: pathname + search, headers: all, body });
  }
  const sent = (url.startsWith('https:') ? requestTls : requestPlain)(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    // `fetch` would say that it is a script, whose requests gateways do not redirect.
    headers: { accept: 'text/html', ...headers },
    agent: false,
  });
  sent.end(body);
  const [reply]: IncomingMessage[] = await once(sent, 'response');
  if (!reply) throw new Error(`No reply from ${url}`);
  const { statusCode: status = 0, headers: replied } = reply;
  return { status, headers: replied, cookies: replied['set-cookie'] ?? [], body: await text(reply) };
}

function readForms(html: string): Form[] {
  return [...html.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)].map(([, form = '', content = '']) => {
    const inputs = [...content.matchAll(/<input([^>]*)>/g)];
    return {
      action: readAttribute(form, 'action'),
      method: readAttribute(form, 'method').toLowerCase() || 'get',
      fields: Object.fromEntries(
        inputs.map(([, input = '']) => [readAttribute(input, 'name'), readAttribute(input, 'value')]),
      ),
    };
  });
}

function readAttribute(tag: string, name: string): string {
  const value = textOf(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]);
  return value.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
