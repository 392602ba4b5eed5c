/** What a provider of OpenID Connect must offer to be tested from outside. */
import { Browser, exchange, type Page, type Reply, type Route } from './browser.ts';
import type { LogoutReceiver } from './logout-receiver.ts';

export const CALLBACK = 'https://client.test/callback';
export const LOGGED_OUT = 'https://client.test/signed-out';
export const PERSON = { email: 'ada@example.com', name: 'Ada Lovelace' };

export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly userinfo_endpoint: string;
  readonly jwks_uri: string;
  readonly end_session_endpoint: string;
  readonly scopes_supported: readonly string[];
  readonly [name: string]: unknown;
}

export interface OpenIdProvider extends AsyncDisposable {
  readonly name: string;
  readonly route: Route;
  readonly client: Client;
  /** Another client, with the same redirect URI. */
  readonly otherClient: Client;
  /** The requests to the client's endpoint for back-channel logout. */
  readonly logouts: LogoutReceiver;
  /** The time at the provider. */
  now(): Date;
  /** Lets time pass. */
  wait(milliseconds: number): Promise<void>;
  /**
   * Does on a page what a person does to sign in. Returns the next page, or undefined if the page asks for nothing.
   * `signIn` is called when the person has proved who they are.
   */
  handlePage(browser: Browser, page: Page, onSignIn: () => void): Promise<Page | undefined>;
}

/** What a request to the authorization endpoint comes to. */
export interface Answer {
  readonly place: 'page' | 'redirect' | 'form';
  readonly status: number;
  /** What the client gets, unless the place is a page. */
  readonly params: Readonly<Record<string, string>>;
  /** Where the client gets it. */
  readonly redirectUri: string;
  /** How often the person had to sign in. */
  readonly signIns: number;
}

type Params = Readonly<Record<string, string>> | URLSearchParams;

interface Visit {
  /** Whether the person leaves at the first page. */
  readonly leaves?: boolean;
  readonly browser?: Browser;
  readonly method?: 'GET' | 'POST';
}

/** Sends an authorization request. */
export async function authorize(provider: OpenIdProvider, params: Params, visit: Visit = {}): Promise<Answer> {
  return walk(provider, (await readMetadata(provider)).authorization_endpoint, params, visit);
}

/** Asks the provider to sign the user out. */
export async function endSession(provider: OpenIdProvider, params: Params, visit: Visit = {}): Promise<Answer> {
  return walk(provider, (await readMetadata(provider)).end_session_endpoint, params, visit);
}

/** Walks from the request to the answer, and does on each page what the person does there. */
async function walk(
  provider: OpenIdProvider,
  endpoint: string,
  params: Params,
  { browser = new Browser(provider.route), method = 'GET', leaves = false }: Visit,
): Promise<Answer> {
  const query = new URLSearchParams(params);
  const url = query.size > 0 ? `${endpoint}?${query}` : endpoint;
  let page = await (method === 'POST' ? browser.open(endpoint, query) : browser.open(url));
  let signIns = 0;
  const onSignIn = () => {
    signIns++;
  };
  for (;;) {
    const { status } = page;
    const location = browser.locationOf(page);
    if (location !== undefined) {
      const [redirectUri = '', answer] = location.split(/[?#]/);
      return {
        place: 'redirect',
        status,
        params: Object.fromEntries(new URLSearchParams(answer)),
        redirectUri,
        signIns,
      };
    }
    const form = page.forms.find(
      ({ action }) => action.startsWith('https:') && !action.startsWith(provider.route.issuer),
    );
    if (form) return { place: 'form', status, params: form.fields, redirectUri: form.action, signIns };
    const next = leaves ? undefined : await provider.handlePage(browser, page, onSignIn);
    if (!next) return { place: 'page', status, params: {}, redirectUri: '', signIns };
    page = next;
  }
}

/** Sends a request to an endpoint, as a client does. */
export function send(
  { route }: OpenIdProvider,
  url: string,
  { method, headers = {}, form }: ClientRequest = {},
): Promise<Reply> {
  return exchange(route, url, {
    ...(method && { method }),
    headers: { ...(form && { 'content-type': 'application/x-www-form-urlencoded' }), ...headers },
    body: form && new URLSearchParams(form).toString(),
  });
}

export interface ClientRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly form?: Readonly<Record<string, string>> | URLSearchParams;
}

export async function readMetadata(provider: OpenIdProvider): Promise<Metadata> {
  const { body } = await send(provider, `${provider.route.issuer}/.well-known/openid-configuration`);
  return JSON.parse(body);
}

/** Returns the header of HTTP Basic, whose halves are form-encoded (RFC 6749, 2.3.1). */
export function basicAuth({ clientId, clientSecret }: Client): { authorization: string } {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1);
  const pair = `${encode(clientId)}:${encode(clientSecret)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}
