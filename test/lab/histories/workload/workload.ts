/** Callers that make calls of all kinds at all replicas until they are stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Addresses } from './addresses.ts';
import { ApiKeys } from './api-keys.ts';
import { Browsers } from './browsers.ts';
import { Events } from './events.ts';
import { Grants } from './grants.ts';
import { pick } from './random.ts';
import type { Actor, Scene } from './scene.ts';
import { Sessions } from './sessions.ts';
import { Users } from './users.ts';
import { Webhooks } from './webhooks.ts';

/** With these pauses they make about 300 calls a second, which leaves a machine of two cores time for the faults. */
const CALLERS = 12;
const PAUSE_MS = 30;
/** Each has a key at a time. */
const KEY_CALLERS = 2;

/** Starts the callers. The function that it returns stops them, and resolves when the last call has returned. */
export function startWorkload(scene: Scene): () => Promise<void> {
  let isOver = false;
  const [events, sessions, grants] = [new Events(scene), new Sessions(scene), new Grants(scene)];
  // Sessions and grants have the most to be wrong.
  const others = [new Users(scene), new Webhooks(scene), new Browsers(scene), new Addresses(scene)];
  const actors: readonly Actor[] = [events, sessions, sessions, grants, grants, ...others];
  const keepCalling = async (next: () => Actor) => {
    while (!isOver) {
      await next().step();
      await sleep(PAUSE_MS * 2 * Math.random());
    }
  };
  const keys = new ApiKeys(scene, () => isOver);
  const callers = [
    ...Array.from({ length: CALLERS }, () => keepCalling(() => pick(actors))),
    ...Array.from({ length: KEY_CALLERS }, () => keepCalling(() => keys)),
  ];
  return async () => {
    isOver = true;
    await Promise.all(callers);
  };
}
