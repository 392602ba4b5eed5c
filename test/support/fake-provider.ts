/** A provider of OpenID Connect, or GitHub, that tells the truth unless a test changes what it says. */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { LoginProvider } from '../../src/modules/providers/parse-login-providers.ts';
import { createDirectory } from './directory.ts';
import { generateIssuerKey, type IssuerKey, signToken } from './issuer.ts';

type JsonObject = Record<string, unknown>;

interface Code {
  readonly query: URLSearchParams;
  readonly claims: JsonObject;
}

export class FakeProvider implements AsyncDisposable {
  key: IssuerKey = generateIssuerKey('RS256');
  /** The keys of its key set. */
  published: readonly IssuerKey[] = [this.key];
  /** What it says of itself. */
  metadata: JsonObject = {};
  /** What it adds to an ID token, or changes in it. */
  claims: JsonObject = {};
  /** Replaces the ID token. */
  forge: ((claims: JsonObject) => string) | undefined;
  /** What it says about the person at the userinfo endpoint. */
  profile: JsonObject = {};
  /** Replaces the answer of a path. */
  readonly answers = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  /** The paths of all requests so far. */
  readonly requests: string[] = [];
  readonly #codes = new Map<string, Code>();
  /** The secret with which a code was redeemed last. */
  secret = '';
  /** How the last client sent its secret. */
  method = '';
  /** How clients must send their secret. Empty for any way. */
  requiredMethod = '';
  /** Of the last ID token. */
  #subject: unknown;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<FakeProvider> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FakeProvider(server);
  }

  get origin(): string {
    // A TCP server has an AddressInfo.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Returns how Usher knows it. */
  settings(more: Partial<LoginProvider> = {}): LoginProvider {
    const { type = 'openid' } = more;
    return {
      id: 'acme',
      name: 'Acme',
      type,
      issuer: type === 'github' ? `${this.origin}/login/oauth` : this.origin,
      clientId: 'usher',
      clientSecret: 'a-secret-of-usher',
      trustEmail: false,
      emailDomains: [],
      ...more,
    };
  }

  /** Returns the path of a file that has it as the only provider. */
  async writeSettings(): Promise<string> {
    const path = join(await createDirectory(), 'providers.json');
    await writeFile(path, JSON.stringify([this.settings()]));
    return path;
  }

  /** Signs a person in, and returns where the browser goes: the path of the callback with its query. */
  signIn(location: string | undefined, claims: JsonObject = {}): string {
    const { searchParams: query } = new URL(location ?? '');
    const code = randomUUID();
    this.#codes.set(code, { query, claims: { sub: 'a-person', ...claims } });
    return this.answerOf(query, { code });
  }

  /** Refuses to sign a person in. */
  refuse(location: string | undefined, error = 'access_denied'): string {
    return this.answerOf(new URL(location ?? '').searchParams, { error });
  }

  answerOf(query: URLSearchParams, answer: Record<string, string>): string {
    const { pathname } = new URL(query.get('redirect_uri') ?? '');
    return `${pathname}?${new URLSearchParams({ ...answer, state: query.get('state') ?? '' })}`;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  readonly [Symbol.asyncDispose] = () => this.stop();

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? '';
    this.requests.push(path);
    const answer = this.answers.get(path);
    if (answer) return answer(request, response);
    const body = await this.#answer(path, request);
    const isRefused = path === '/token' && this.requiredMethod !== '' && this.method !== this.requiredMethod;
    response.writeHead(isRefused ? 401 : body ? 200 : 400, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isRefused ? { error: 'invalid_client' } : (body ?? { error: 'invalid_grant' })));
  }

  async #answer(path: string, request: IncomingMessage): Promise<unknown> {
    const { origin } = this;
    switch (path) {
      case '/.well-known/openid-configuration':
        return {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          jwks_uri: `${origin}/keys`,
          userinfo_endpoint: `${origin}/userinfo`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
          ...this.metadata,
        };
      case '/keys':
        return { keys: this.published.map(({ publicJwk }) => publicJwk) };
      case '/token':
      case '/login/oauth/access_token':
        return this.#redeem(await this.#readForm(request));
      case '/userinfo':
        return { sub: this.#subject, ...this.profile };
      case '/api/v3/user':
        return { id: 4711, login: 'ada', name: 'Ada', ...this.profile };
      case '/api/v3/user/emails':
        return this.profile.emails ?? [];
      default:
        return undefined;
    }
  }

  async #readForm(request: IncomingMessage): Promise<URLSearchParams> {
    const form = new URLSearchParams(await text(request));
    const [, basic = ''] = request.headers.authorization?.split(' ') ?? [];
    const password = Buffer.from(basic, 'base64').toString().split(':')[1];
    this.secret = form.get('client_secret') ?? decodeURIComponent(password ?? '');
    this.method = form.has('client_secret') ? 'client_secret_post' : basic ? 'client_secret_basic' : 'none';
    return form;
  }

  #redeem(form: URLSearchParams): unknown {
    const code = this.#codes.get(form.get('code') ?? '');
    this.#codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isValid =
      code?.query.get('code_challenge') === challenge && code.query.get('redirect_uri') === form.get('redirect_uri');
    if (!code || !isValid) return undefined;
    const now = Math.floor(Date.now() / 1000);
    this.#subject = code.claims.sub;
    // OpenID Connect demands `auth_time` in answers to requests with `max_age`.
    const times = { iat: now, exp: now + 300, ...(code.query.has('max_age') && { auth_time: now }) };
    const claims = { iss: this.origin, aud: 'usher', nonce: code.query.get('nonce'), ...times, ...code.claims };
    return { access_token: randomUUID(), token_type: 'bearer', id_token: this.#sign({ ...claims, ...this.claims }) };
  }

  #sign(claims: JsonObject): string {
    return this.forge?.(claims) ?? signToken({ alg: this.key.alg, kid: this.key.kid }, claims, this.key);
  }
}
