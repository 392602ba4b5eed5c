import { hash, randomBytes, randomUUID } from 'node:crypto';
import { REVOKE, TOKEN } from '../checker/grant-model.ts';
import { USERINFO } from '../checker/invariants/grants.ts';
import type { Answer } from '../checker/operation.ts';
import type { HttpReply, Reply } from './client.ts';
import { LoginPages } from './login-pages.ts';
import { pick, pickNewest, pickWeighted } from './random.ts';
import { Recoveries } from './recoveries.ts';
import { type Actor, anyReplica, callAny, type Scene } from './scene.ts';

const USERS = 3;
/** Ends before a code or the overlap of a replaced refresh token does, even after the longest pause of a fault. */
const LIFE_MS = 12_000;
/** Some callers do not wait for their reply: they close the connection after at most so many milliseconds. */
const IMPATIENCE_MS = 20;
const REDIRECT_URI = 'https://app.test/callback';
const WEIGHTS = {
  signIn: 10,
  redeem: 14,
  refresh: 30,
  refreshImpatiently: 10,
  useReplaced: 4,
  userinfo: 20,
  list: 10,
  revoke: 2,
  endGrant: 2,
  endUserGrant: 2,
  revokeUserSessions: 1,
  endUserSessions: 1,
  deactivate: 1,
  reactivate: 4,
  recover: 14,
};

interface Login {
  readonly grantId: string;
  readonly code: string;
  readonly verifier: string;
  /** The refresh tokens that have arrived, by their number. */
  readonly refreshTokens: Map<number, string>;
  accessToken: string;
}

interface Visitor {
  readonly userId: string;
  readonly bornAt: number;
  readonly logins: Login[];
}

/** Sign-ins by OpenID Connect, their tokens, and everything that ends them. */
export class Grants implements Actor {
  readonly #scene: Scene;
  readonly #recoveries: Recoveries;
  readonly #visitors: (Visitor | undefined)[] = Array(USERS).fill(undefined);

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#recoveries = new Recoveries(scene, new LoginPages(scene, 'grant'));
  }

  async step(): Promise<void> {
    const at = Math.floor(Math.random() * USERS);
    const visitor = this.#visitors[at];
    if (!visitor || performance.now() > visitor.bornAt + LIFE_MS) {
      this.#visitors[at] = undefined;
      this.#visitors[at] = await this.#create();
      return;
    }
    await this.#steps[visitor.logins.length === 0 ? 'signIn' : pickWeighted(WEIGHTS)](visitor);
  }

  readonly #steps: Readonly<Record<keyof typeof WEIGHTS, (visitor: Visitor) => Promise<unknown>>> = {
    signIn: (visitor) => this.#signIn(visitor),
    redeem: (visitor) => this.#redeem(visitor, pickNewest(visitor.logins)),
    refresh: (visitor) => this.#refresh(visitor, pickNewest(visitor.logins)),
    refreshImpatiently: (visitor) =>
      this.#refresh(visitor, pickNewest(visitor.logins), { patienceMs: 1 + Math.ceil(Math.random() * IMPATIENCE_MS) }),
    useReplaced: (visitor) => this.#refresh(visitor, pickNewest(visitor.logins), { isReplaced: true }),
    userinfo: (visitor) => this.#userinfo(visitor, pickNewest(visitor.logins)),
    list: ({ userId }) => this.#admin('ListUserGrants', userId, { pageSize: 100 }),
    revoke: (visitor) => this.#revoke(visitor, pickNewest(visitor.logins)),
    endGrant: async ({ userId, logins }) => {
      const grantId = pickBegun(logins);
      if (grantId) await this.#application('EndGrant', userId, { grantId });
    },
    endUserGrant: async ({ userId, logins }) => {
      const [applicationId, grantId] = [this.#scene.oidcApplication.id, pickBegun(logins)];
      if (grantId) await this.#admin('EndUserGrant', userId, { applicationId, grantId });
    },
    revokeUserSessions: ({ userId }) => this.#application('RevokeUserSessions', userId, { userId }),
    endUserSessions: ({ userId }) => this.#admin('EndUserSessions', userId),
    deactivate: ({ userId }) => this.#admin('DeactivateUser', userId),
    reactivate: ({ userId }) => this.#admin('ReactivateUser', userId),
    recover: (visitor) => this.#recoveries.step(visitor),
  };

  async #create(): Promise<Visitor | undefined> {
    const request = { email: `${randomUUID()}@example.com` };
    const created = await callAny(this.#scene, { rpc: 'AdminService/CreateUser', subject: 'person', request });
    const userId = created?.user?.id;
    return userId === undefined ? undefined : { userId, bornAt: performance.now(), logins: [] };
  }

  async #signIn({ userId, logins }: Visitor): Promise<void> {
    const verifier = randomBytes(32).toString('base64url');
    const grantId = await this.#authorize(verifier);
    if (!grantId) return;
    const completed = await callAny(this.#scene, {
      rpc: 'AdminService/CompleteLogin',
      subject: subjectOf(userId),
      input: { grantId },
      request: { loginIntentId: grantId, userId },
    });
    const code = completed?.redirectUrl && new URL(completed.redirectUrl).searchParams.get('code');
    if (code) logins.push({ grantId, code, verifier, refreshTokens: new Map(), accessToken: '' });
  }

  /** Returns the ID of the login. It changes nothing that anybody judges. */
  async #authorize(verifier: string): Promise<string | undefined> {
    const { client, oidcApplication } = this.#scene;
    const query = new URLSearchParams({
      client_id: oidcApplication.clientId,
      redirect_uri: REDIRECT_URI,
      response_type: 'code',
      scope: 'openid email',
      state: 'state',
      code_challenge: hash('sha256', verifier, 'base64url'),
      code_challenge_method: 'S256',
    });
    const reply = await client.send(anyReplica(this.#scene), {
      method: 'GET',
      path: `/oidc/authorize?${query}`,
      headers: fromAnywhere(),
    });
    const location = typeof reply === 'string' ? undefined : reply.headers.location;
    return location === undefined ? undefined : (new URL(location).searchParams.get('intent') ?? undefined);
  }

  async #redeem({ userId }: Visitor, login: Login | undefined): Promise<void> {
    if (!login) return;
    const { grantId, code, verifier } = login;
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: verifier };
    const answer = await this.#post(TOKEN, userId, { input: { grantId }, form });
    if (answer) keep(login, 1, answer);
  }

  async #refresh(
    { userId }: Visitor,
    login: Login | undefined,
    { isReplaced = false, patienceMs }: { isReplaced?: boolean; patienceMs?: number } = {},
  ): Promise<void> {
    const numbers = [...(login?.refreshTokens.keys() ?? [])].sort((a, b) => a - b);
    const rotation = isReplaced ? numbers[Math.floor(Math.random() * numbers.length)] : numbers.at(-1);
    if (!login || rotation === undefined) return;
    const { grantId } = login;
    const form = { grant_type: 'refresh_token', refresh_token: login.refreshTokens.get(rotation) ?? '' };
    const answer = await this.#post(TOKEN, userId, { input: { grantId, rotation }, form, patienceMs });
    if (answer) keep(login, rotation + 1, answer);
  }

  async #revoke({ userId }: Visitor, login: Login | undefined): Promise<void> {
    const token = login && pick([login.accessToken, ...login.refreshTokens.values()]);
    if (token) await this.#post(REVOKE, userId, { input: { grantId: login.grantId }, form: { token } });
  }

  async #userinfo({ userId }: Visitor, login: Login | undefined): Promise<void> {
    if (!login?.accessToken) return;
    const { client, recorder } = this.#scene;
    const replica = anyReplica(this.#scene);
    const call = { rpc: USERINFO, subject: subjectOf(userId), input: { grantId: login.grantId } };
    await recorder.record(replica, call, async (requestId) => {
      const headers = { authorization: `Bearer ${login.accessToken}`, 'x-request-id': requestId };
      const reply = await client.send(replica, { method: 'GET', path: '/oidc/userinfo', headers });
      if (typeof reply === 'string') return reply;
      if (reply.status === 401) return { answer: {} };
      return reply.status === 200 ? { answer: { active: true } } : readError(reply);
    });
  }

  #post(
    rpc: string,
    userId: string,
    {
      input,
      form,
      patienceMs,
    }: {
      readonly input: { readonly grantId: string; readonly rotation?: number };
      readonly form: Readonly<Record<string, string>>;
      readonly patienceMs?: number | undefined;
    },
  ): Promise<(Answer & TokenAnswer) | undefined> {
    const { client, oidcApplication, recorder } = this.#scene;
    const replica = anyReplica(this.#scene);
    return recorder.record(replica, { rpc, subject: subjectOf(userId), input }, async (requestId) => {
      const reply = await client.send(replica, {
        method: 'POST',
        path: rpc.slice('POST '.length),
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-request-id': requestId },
        body: new URLSearchParams({ client_id: oidcApplication.clientId, ...form }).toString(),
        ...(patienceMs !== undefined && { patienceMs }),
      });
      if (typeof reply === 'string') return reply;
      return reply.status === 200 ? { answer: reply.body === '' ? {} : JSON.parse(reply.body) } : readError(reply);
    });
  }

  #admin(method: string, userId: string, more: { grantId?: string | undefined; [field: string]: unknown } = {}) {
    return this.#call(`AdminService/${method}`, userId, { userId, ...more });
  }

  #application(method: string, userId: string, request: { grantId?: string | undefined; userId?: string }) {
    return this.#call(`SessionService/${method}`, userId, request);
  }

  async #call(rpc: string, userId: string, request: { grantId?: string | undefined; userId?: string }) {
    const { grantId } = request;
    const input = grantId === undefined ? {} : { grantId };
    const { apiKey } = this.#scene.oidcApplication;
    await callAny(this.#scene, { rpc, subject: subjectOf(userId), input, request, apiKey });
  }
}

interface TokenAnswer {
  readonly access_token?: string;
  readonly refresh_token?: string;
}

function subjectOf(userId: string): string {
  return `grant ${userId}`;
}

/** Another network each time, because the logins of one are limited. */
function fromAnywhere() {
  const [a = 0, b = 0, c = 0] = randomBytes(3);
  return { 'x-forwarded-for': `11.${a}.${b}.${c}` };
}

/** Keeps the tokens. Of two answers with the successor of one token, each is as good. */
function keep(login: Login, rotation: number, answer: TokenAnswer): void {
  if (answer.refresh_token) login.refreshTokens.set(rotation, answer.refresh_token);
  if (answer.access_token) login.accessToken = answer.access_token;
}

function readError({ body, status }: HttpReply): Reply {
  try {
    const { error = '' } = JSON.parse(body);
    return { code: error, message: error };
  } catch {
    return { code: String(status), message: body };
  }
}

/** Returns a grant that has begun. The end of one that just begins may refuse its code. */
function pickBegun(logins: readonly Login[]): string | undefined {
  return pickNewest(logins.filter(({ accessToken }) => accessToken !== ''))?.grantId;
}
