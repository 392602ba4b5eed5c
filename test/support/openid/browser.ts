/** A browser without JavaScript that walks from an authorization request to the client's redirect URI. */
import { type HttpReply, request } from '../http.ts';
import { textOf } from '../login-browser.ts';

export interface Form {
  readonly action: string;
  readonly method: string;
  /** The initial values of its fields, by name. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface Page extends HttpReply {
  readonly url: string;
  readonly forms: readonly Form[];
}

/** How to reach the provider: its issuer may be a name that no machine has. */
export interface Route {
  readonly issuer: string;
  /** Where the provider listens. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Browser {
  readonly #route: Route;
  readonly #cookies = new Map<string, string>();

  constructor(route: Route) {
    this.#route = route;
  }

  /** Opens the address and follows redirects as long as they stay at the provider. */
  async open(url: string, body?: Readonly<Record<string, string>> | URLSearchParams): Promise<Page> {
    const reply = await this.#send(url, body && new URLSearchParams(body).toString());
    for (const cookie of reply.cookies) this.#keep(cookie);
    const page = { ...reply, url, forms: readForms(reply.body) };
    const location = this.locationOf(page);
    return location?.startsWith(this.#route.issuer) ? this.open(location) : page;
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
    return headers.location === undefined ? undefined : new URL(headers.location, url).href;
  }

  forgetCookies(): void {
    this.#cookies.clear();
  }

  #send(url: string, body: string | undefined): Promise<HttpReply> {
    const { issuer, url: base, headers } = this.#route;
    const { host, pathname, search } = new URL(url);
    if (!url.startsWith(issuer)) throw new Error(`${url} is not at ${issuer}`);
    const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ');
    return request(base, {
      path: pathname + search,
      headers: {
        host,
        ...headers,
        ...(cookie && { cookie }),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body,
    });
  }

  #keep(cookie: string): void {
    const [pair = '', ...attributes] = cookie.split(';');
    const [name = '', ...value] = pair.split('=');
    const isOver = attributes.some((attribute) => /^ *(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute));
    if (isOver) this.#cookies.delete(name);
    else this.#cookies.set(name, value.join('='));
  }
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
