import { randomUUID } from 'node:crypto';
import { pick, pickWeighted } from './random.ts';
import { type Actor, callAny, type Scene } from './scene.ts';

const WEBHOOKS = 3;
const CALLS = 50;
const CALL_WEIGHTS = {
  GetWebhook: 40,
  UpdateWebhook: 30,
  RotateSigningKey: 15,
  SendTestMessage: 15,
  DeleteWebhook: 2,
  ListWebhooks: 6,
};

interface LiveWebhook {
  readonly webhookId: string;
  calls: number;
}

/** Calls about webhooks that get test messages alone, and lists of them. */
export class Webhooks implements Actor {
  readonly #scene: Scene;
  readonly #webhooks: (LiveWebhook | undefined)[] = Array(WEBHOOKS).fill(undefined);

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async step(): Promise<void> {
    const at = Math.floor(Math.random() * WEBHOOKS);
    const webhook = this.#webhooks[at];
    if (!webhook || webhook.calls++ > CALLS) {
      this.#webhooks[at] = undefined;
      if (webhook) await this.#call('DeleteWebhook', webhook.webhookId);
      this.#webhooks[at] = await this.#create();
      return;
    }
    await this.#call(pickWeighted(CALL_WEIGHTS), webhook.webhookId);
  }

  async #call(method: keyof typeof CALL_WEIGHTS, webhookId: string): Promise<void> {
    if (method === 'SendTestMessage') {
      await callAny(this.#scene, {
        rpc: 'WebhookService/SendTestMessage',
        subject: `test of ${webhookId}`,
        request: { webhookId },
      });
      return;
    }
    if (method === 'ListWebhooks') {
      await callAny(this.#scene, {
        rpc: 'WebhookService/ListWebhooks',
        subject: 'list webhooks',
        request: { pageSize: 100 },
      });
      return;
    }
    const input =
      method === 'UpdateWebhook' ? pick([{ description: randomUUID() }, { isActive: true }, { isActive: false }]) : {};
    await callAny(this.#scene, {
      rpc: `WebhookService/${method}`,
      subject: `webhook ${webhookId}`,
      input,
      // The former key ends at once.
      request: { webhookId, ...input, ...(method === 'RotateSigningKey' && { overlapSeconds: 0 }) },
    });
  }

  async #create(): Promise<LiveWebhook | undefined> {
    const { endpoint: url, ownerId } = this.#scene;
    const input = { description: randomUUID() };
    const created = await callAny(this.#scene, {
      rpc: 'WebhookService/CreateWebhook',
      subject: ({ webhook }) => `webhook ${webhook?.webhookId}`,
      input,
      request: { url, ownerId, eventTypes: ['webhook.test'], ...input },
    });
    const webhookId = created?.webhook?.webhookId;
    return webhookId ? { webhookId, calls: 0 } : undefined;
  }
}
