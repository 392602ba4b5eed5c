import { randomUUID } from 'node:crypto';
import { pickWeighted } from './random.ts';
import { type Actor, callAny, logIn, type Scene } from './scene.ts';

const USERS = 3;
const CALLS = 60;
const CALL_WEIGHTS = { GetUser: 45, UpdateUser: 40, DeactivateUser: 8, ReactivateUser: 8 };

interface LiveUser {
  readonly userId: string;
  calls: number;
}

/** Calls about the profiles of users who have signed in to the application. */
export class Users implements Actor {
  readonly #scene: Scene;
  readonly #users: (LiveUser | undefined)[] = Array(USERS).fill(undefined);

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async step(): Promise<void> {
    const at = Math.floor(Math.random() * USERS);
    const user = this.#users[at];
    if (!user || user.calls++ > CALLS) {
      this.#users[at] = await this.#create();
      return;
    }
    const method = pickWeighted(CALL_WEIGHTS);
    const input = method === 'UpdateUser' ? { name: randomUUID() } : {};
    const { userId } = user;
    const request = { userId, ...input };
    await callAny(this.#scene, { rpc: `AdminService/${method}`, subject: `user ${userId}`, input, request });
  }

  /** Those who have signed in are told of to the endpoint. */
  async #create(): Promise<LiveUser | undefined> {
    const userId = await createSignedInUser(this.#scene, 'visitor');
    if (!userId) return undefined;
    const input = { name: randomUUID() };
    const named = await callAny(this.#scene, {
      rpc: 'AdminService/UpdateUser',
      subject: `user ${userId}`,
      input,
      request: { userId, ...input },
    });
    return named && { userId, calls: 0 };
  }
}

/** Returns the ID of a new user, or undefined where a call has not succeeded. The sign-in is about that kind of subject. */
export async function createSignedInUser(scene: Scene, kind: string): Promise<string | undefined> {
  const request = { email: `${randomUUID()}@example.com` };
  const created = await callAny(scene, { rpc: 'AdminService/CreateUser', subject: 'person', request });
  const userId = created?.user?.id;
  if (!userId) return undefined;
  const subject = `${kind} ${userId}`;
  const authToken = await logIn(scene, subject, userId);
  if (!authToken) return undefined;
  const begun = await callAny(scene, { rpc: 'AuthService/ExchangeToken', subject, input: { authToken } });
  return begun && userId;
}
