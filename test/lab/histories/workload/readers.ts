import { Code, ConnectError } from '@connectrpc/connect';
import { SessionChecks } from '../../../../src/client/session-checks.ts';
import { createUsherClient } from '../../../../src/client/usher-client.ts';
import { CHECK_IN_MEMORY } from '../checker/invariants/bounded-checks.ts';
import type { Reply } from './client.ts';
import type { Scene } from './scene.ts';

/** The least and the most that the client takes. */
const BOUNDS_MS = [500, 5_000];
const TIMEOUT_MS = 2_000;

/** Services that answer from their memory, each with a bound of its own, and ask one replica what has ended. */
export class Readers {
  readonly #scene: Scene;
  readonly #readers: readonly { readonly replica: number; readonly boundMs: number; readonly checks: SessionChecks }[];

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#readers = BOUNDS_MS.map((boundMs, at) => {
      const replica = at % scene.urls.length;
      const client = createUsherClient({ baseUrl: scene.urls[replica] ?? '', apiKey: scene.client.apiKey });
      return { replica, boundMs, checks: new SessionChecks({ client, boundMs, timeoutMs: TIMEOUT_MS }) };
    });
  }

  /** Checks the session in each service. */
  async check(userId: string, sessionId: string): Promise<void> {
    const checked = this.#readers.map(({ replica, boundMs: maxStalenessMs, checks }) => {
      const call = { rpc: CHECK_IN_MEMORY, subject: `session ${userId}`, input: { sessionId, maxStalenessMs } };
      return this.#scene.recorder.record(replica, call, () => find(checks, sessionId));
    });
    await Promise.all(checked);
  }
}

async function find(checks: SessionChecks, sessionId: string): Promise<Reply> {
  try {
    return { answer: (await checks.find(sessionId)) ? { active: true } : {} };
  } catch (error) {
    const { code, rawMessage: message } = ConnectError.from(error);
    if (code === Code.Unavailable || code === Code.DeadlineExceeded) return 'lost';
    return { code: Code[code] ?? '', message };
  }
}
