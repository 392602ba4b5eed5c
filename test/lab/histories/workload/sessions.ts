import type { Answer, Input } from '../checker/operation.ts';
import { EXPIRE, MAKE_DUE } from '../checker/session-model.ts';
import { LoginPages } from './login-pages.ts';
import { pickNewest, pickWeighted } from './random.ts';
import { Recoveries } from './recoveries.ts';
import { type Actor, callAny, logIn, type Scene } from './scene.ts';
import { createSignedInUser } from './users.ts';

const USERS = 4;
const CALLS = 80;
/** How old an answer of CheckSession may be. */
const BOUND_MS = 2_000;
const WEIGHTS = {
  logIn: 12,
  exchange: 22,
  check: 22,
  checkWithBound: 10,
  list: 5,
  renew: 10,
  makeDue: 3,
  expire: 2,
  revokeSession: 5,
  revokeUserSessions: 3,
  deactivate: 1,
  reactivate: 3,
  recover: 14,
};

interface Visitor {
  readonly userId: string;
  /** The newest is the last. */
  readonly tokens: string[];
  readonly sessionIds: string[];
  calls: number;
}

/** Sign-ins, renewals, checks and revocations of users' sessions. */
export class Sessions implements Actor {
  readonly #scene: Scene;
  readonly #recoveries: Recoveries;
  readonly #visitors: (Visitor | undefined)[] = Array(USERS).fill(undefined);

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#recoveries = new Recoveries(scene, new LoginPages(scene, 'session'));
  }

  async step(): Promise<void> {
    const at = Math.floor(Math.random() * USERS);
    const visitor = this.#visitors[at];
    if (!visitor || visitor.calls++ > CALLS) {
      const userId = await createSignedInUser(this.#scene, 'session');
      this.#visitors[at] = userId ? { userId, tokens: [], sessionIds: [], calls: 0 } : undefined;
      return;
    }
    await this.#steps[pickWeighted(WEIGHTS)](visitor);
  }

  readonly #steps: Readonly<Record<keyof typeof WEIGHTS, (visitor: Visitor) => Promise<unknown>>> = {
    logIn: async ({ userId, tokens }) => {
      const token = await logIn(this.#scene, `session ${userId}`, userId);
      if (token) tokens.push(token);
    },
    exchange: async (visitor) => {
      const authToken = pickNewest(visitor.tokens);
      if (authToken) this.#note(visitor, await this.#call(visitor, 'AuthService/ExchangeToken', { authToken }));
    },
    check: (visitor) => this.#aboutSession(visitor, 'CheckSession', { maxStalenessMs: 0 }),
    checkWithBound: (visitor) => this.#aboutSession(visitor, 'CheckSession', { maxStalenessMs: BOUND_MS }),
    list: (visitor) => this.#aboutUser(visitor, 'SessionService/ListSessions'),
    renew: async (visitor) => this.#note(visitor, await this.#aboutSession(visitor, 'RenewSession')),
    makeDue: ({ userId }) =>
      this.#scene.recorder.step(MAKE_DUE, `session ${userId}`, () => this.#scene.makeDue(userId)),
    expire: ({ userId }) => this.#scene.recorder.step(EXPIRE, `session ${userId}`, () => this.#scene.expire(userId)),
    revokeSession: (visitor) => this.#aboutSession(visitor, 'RevokeSession'),
    revokeUserSessions: (visitor) => this.#aboutUser(visitor, 'SessionService/RevokeUserSessions'),
    deactivate: (visitor) => this.#aboutUser(visitor, 'AdminService/DeactivateUser'),
    reactivate: (visitor) => this.#aboutUser(visitor, 'AdminService/ReactivateUser'),
    recover: (visitor) => this.#recoveries.step(visitor),
  };

  async #aboutSession(visitor: Visitor, method: string, more: Input = {}): Promise<Answer | undefined> {
    const sessionId = pickNewest(visitor.sessionIds);
    return sessionId ? this.#call(visitor, `SessionService/${method}`, { sessionId, ...more }) : undefined;
  }

  #aboutUser({ userId }: Visitor, rpc: string): Promise<Answer | undefined> {
    return callAny(this.#scene, { rpc, subject: `session ${userId}`, request: { userId } });
  }

  #call({ userId }: Visitor, rpc: string, input: Input): Promise<Answer | undefined> {
    return callAny(this.#scene, { rpc, subject: `session ${userId}`, input });
  }

  #note({ userId, sessionIds }: Visitor, answer: Answer | undefined): void {
    const sessionId = answer?.session?.id;
    if (!sessionId || sessionIds.at(-1) === sessionId) return;
    sessionIds.push(sessionId);
    this.#scene.tellReaders({ userId, sessionId });
  }
}
