import { setTimeout as sleep } from 'node:timers/promises';
import { REVOCATION_MS } from '../checker/invariants/keys.ts';
import { type Actor, anyReplica, callAny, type Scene } from './scene.ts';

/** How long a key is used before it is revoked, and after the revocation must hold. */
const USED_MS = 2_000;
const PAUSE_MS = 100;

/** Creates a key, uses it, revokes it, and goes on using it until every replica must have refused it. A step takes ten seconds. */
export class ApiKeys implements Actor {
  readonly #scene: Scene;
  readonly #isOver: () => boolean;

  constructor(scene: Scene, isOver: () => boolean) {
    this.#scene = scene;
    this.#isOver = isOver;
  }

  async step(): Promise<void> {
    const created = await callAny(this.#scene, {
      rpc: 'AdminService/CreateApiKey',
      subject: ({ apiKeyId }) => `key ${apiKeyId}`,
      request: { applicationId: this.#scene.applicationId },
    });
    if (!created?.apiKeyId || !created.apiKey) return void (await sleep(PAUSE_MS));
    await this.#use(created.apiKeyId, created.apiKey, USED_MS);
    await this.#revoke(created.apiKeyId);
    await this.#use(created.apiKeyId, created.apiKey, REVOCATION_MS + USED_MS);
    await this.#list();
  }

  async #use(id: string, apiKey: string, forMs: number): Promise<void> {
    const { recorder } = this.#scene;
    const endsAt = performance.now() + forMs;
    while (performance.now() < endsAt && !this.#isOver()) {
      const replica = anyReplica(this.#scene);
      const request = { pageSize: 1 };
      await recorder.call(replica, { rpc: 'EventService/ListEvents', subject: `key ${id}`, apiKey, request });
      await sleep(PAUSE_MS);
    }
  }

  async #revoke(id: string): Promise<void> {
    const revoke = () =>
      callAny(this.#scene, { rpc: 'AdminService/RevokeApiKey', subject: `key ${id}`, request: { apiKeyId: id } });
    while (!(await revoke()) && !this.#isOver()) await sleep(PAUSE_MS);
  }

  async #list(): Promise<void> {
    const { applicationId } = this.#scene;
    const request = { applicationId, pageSize: 100 };
    await callAny(this.#scene, { rpc: 'AdminService/ListApiKeys', subject: 'list keys', request });
  }
}
