/** A browser without JavaScript: it keeps cookies, and reads and submits the forms of a page. */
import type { Config } from '../../src/config/config.ts';
import { type HttpReply, request } from './http.ts';
import { clientsOf, REDIRECT_URI, type Tenant } from './service.ts';

interface LoginForm {
  readonly action: string;
  readonly method: string;
  /** The initial values of its fields, by name. */
  readonly fields: Readonly<Record<string, string>>;
}

/** A reply as a person sees it. */
export interface LoginPage extends HttpReply {
  readonly heading: string;
  /** What the page says went wrong. */
  readonly alert: string;
  readonly forms: readonly LoginForm[];
  /** The form in the footer that shows the page in another language. */
  readonly languageSwitch: LoginForm | undefined;
  /** Where the reply sends the browser. */
  readonly location: string | undefined;
}

/** Enables every way to sign in, and lets each browser have its own IP address. */
export const LOGIN_CONFIG: Partial<Config> = {
  loginMethods: ['wallet', 'email'],
  trustedProxies: ['127.0.0.1'],
};

export class LoginBrowser {
  readonly #cookies: Map<string, string>;
  readonly #url: string;
  readonly #address: string;
  /** The languages that it asks for. */
  readonly #languages: string;
  readonly #userAgent: string;

  constructor(
    service: { url: string },
    { address = newAddress(), cookies = new Map<string, string>(), languages = '', userAgent = '' } = {},
  ) {
    this.#url = service.url;
    this.#address = address;
    this.#cookies = cookies;
    this.#languages = languages;
    this.#userAgent = userAgent;
  }

  /** Returns the same browser with requests to another replica. */
  at(replica?: { url: string }): LoginBrowser {
    if (!replica) return this;
    const like = { address: this.#address, languages: this.#languages, userAgent: this.#userAgent };
    return new LoginBrowser(replica, { ...like, cookies: this.#cookies });
  }

  /** The `Cookie` header: `name=value; name=value`. */
  get cookie(): string | undefined {
    return this.#cookies.size > 0 ? [...this.#cookies].map((pair) => pair.join('=')).join('; ') : undefined;
  }

  set cookie(cookie: string | undefined) {
    this.#cookies.clear();
    for (const pair of cookie?.split('; ') ?? []) this.#keep(pair);
  }

  async open(path: string, method = 'GET', headers: Record<string, string> = {}): Promise<LoginPage> {
    return this.#send({ method, path, headers });
  }

  /** Fills in the form with that action and submits it. */
  async submit(
    page: LoginPage,
    action: string,
    typed: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<LoginPage> {
    const { method, fields } = formOf(page, action);
    const filled = { ...fields, ...typed };
    return method === 'post'
      ? this.post(action, filled, headers)
      : this.open(`${action}?${new URLSearchParams(filled)}`, 'GET', headers);
  }

  /** Chooses a language in the footer of the page. */
  async switchLanguage({ languageSwitch }: LoginPage, lang: string): Promise<LoginPage> {
    if (languageSwitch?.method !== 'get') throw new Error('The page has no form for the language that is a GET');
    return this.open(`${languageSwitch.action}?${new URLSearchParams({ ...languageSwitch.fields, lang })}`);
  }

  async post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<LoginPage> {
    return this.#send({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  }

  /** Follows redirects within the site. */
  async #send({ headers, ...sent }: Parameters<typeof request>[1]): Promise<LoginPage> {
    const { cookie } = this;
    const reply = await request(this.#url, {
      ...sent,
      headers: {
        'x-forwarded-for': this.#address,
        ...(this.#languages && { 'accept-language': this.#languages }),
        ...(this.#userAgent && { 'user-agent': this.#userAgent }),
        ...headers,
        ...(cookie && { cookie }),
      },
    });
    for (const given of reply.cookies) this.#keep(given.split(';')[0] ?? '');
    const page = readPage(reply);
    return page.location?.startsWith('/') ? this.open(page.location) : page;
  }

  #keep(pair: string): void {
    const at = pair.indexOf('=');
    this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

/** Returns the form with that action. @throws if the page has none. */
export function formOf(page: LoginPage, action: string): LoginForm {
  const form = page.forms.find((candidate) => candidate.action === action);
  if (!form) throw new Error(`No form for ${action} on a page of status ${page.status}: ${page.heading} ${page.alert}`);
  return form;
}

interface LoginOptions {
  readonly redirectUri?: string;
  readonly state?: string;
  readonly locale?: string;
  readonly prompt?: 'LOGIN' | 'PASSKEYS';
  readonly maxAgeSeconds?: number;
  readonly requiredAssurance?: string;
}

export type BegunLogin = Awaited<ReturnType<typeof beginLogin>>;

/** Returns the login with the path of its page, which has a query. */
export async function beginLogin(
  service: { url: string },
  tenant: Tenant,
  { redirectUri = REDIRECT_URI, state = 'a state of the application', ...options }: LoginOptions = {},
) {
  const { clientId } = tenant;
  const answer = await clientsOf(service, tenant).auth.generateAuthUrl({ clientId, redirectUri, state, ...options });
  const { origin, pathname, search } = new URL(answer.authUrl);
  return { loginIntentId: answer.loginIntentId, path: pathname + search, origin, state };
}

/** Asks for a code from a new browser, and returns the page for the code. */
export async function requestCode(
  service: { url: string },
  tenant: Tenant,
  email: string,
  address?: string,
): Promise<LoginPage> {
  const browser = new LoginBrowser(service, address ? { address } : {});
  const page = await browser.open((await beginLogin(service, tenant)).path);
  return browser.submit(page, '/login/email', { email });
}

let addressCount = 0;

/** Returns another address at each call, of the range for benchmarks (RFC 2544): each of 512 in a site of its own. */
export function newAddress(): string {
  const site = addressCount % 512;
  const host = 1 + (Math.floor(addressCount++ / 512) % 254);
  return `198.${18 + (site >> 8)}.${site & 255}.${host}`;
}

function readPage(reply: HttpReply): LoginPage {
  const { body, headers } = reply;
  // The footer has the same form on every page.
  const main = /<main.*<\/main>/s.exec(body)?.[0] ?? '';
  return {
    ...reply,
    heading: textOf(/<h1[^>]*>(.*?)<\/h1>/s.exec(body)?.[1]),
    alert: textOf(/<p class="alert"[^>]*>(.*?)<\/p>/s.exec(body)?.[1]),
    forms: readForms(main),
    languageSwitch: readForms(body.slice(body.indexOf('<footer')))[0],
    location: headers.location,
  };
}

function readForms(html: string): LoginForm[] {
  return [...html.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)].map(([, form = '', content = '']) => {
    const inputs = [...content.matchAll(/<input([^>]*)>/g)];
    const fields = inputs.map(([, input = '']) => [readAttribute(input, 'name'), readAttribute(input, 'value')]);
    return {
      action: readAttribute(form, 'action'),
      method: readAttribute(form, 'method') || 'get',
      fields: Object.fromEntries(fields),
    };
  });
}

function readAttribute(tag: string, name: string): string {
  return textOf(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]);
}

/** Returns the text that HTML shows. */
export function textOf(html = ''): string {
  return html.replace(/<[^>]*>/g, '').replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}
