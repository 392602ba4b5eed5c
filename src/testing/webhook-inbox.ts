/** An endpoint on this machine that gets the messages of one webhook, and verifies their signatures. */
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyWebhookAt } from '../client/verify-webhook.ts';
import type { WebhookMessage } from '../client/webhook-message.ts';
import { EVERY_TYPE } from '../domain/outbox/event-types.ts';
import type { TestApplication, TestUsher, WebhookInbox } from './test-usher.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

const WAIT_MS = 5_000;
const POLL_MS = 5;

/** What an inbox needs of its server. */
type InboxServer = Pick<TestUsher, 'clock' | 'createUser'>;

export interface OpenInbox extends WebhookInbox {
  /** The owner of the webhook. */
  readonly ownerId: string;
  forget(): void;
}

export async function openInbox(
  { clock, createUser }: InboxServer,
  { id: applicationId, client }: Pick<TestApplication, 'id' | 'client'>,
  types: readonly string[] = [EVERY_TYPE],
): Promise<OpenInbox> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await WebhookReceiver.open());
  const { id: ownerId } = await createUser({ applicationIds: [applicationId] });
  const created = await client.webhooks.createWebhook({ url: receiver.url, ownerId, eventTypes: [...types] });
  const { webhookId = '', signingKey = '' } = created.webhook ?? {};
  const messages: WebhookMessage[] = [];
  const returned = new Set<WebhookMessage>();
  const failures: number[] = [];
  let problem: Error | undefined;
  receiver.respond = async ({ headers, body }, response) => {
    const status = failures.shift();
    if (status !== undefined) return void response.writeHead(status).end();
    try {
      messages.push(await verifyWebhookAt(clock.now().getTime(), signingKey, headers, body));
      response.writeHead(204).end();
    } catch (error) {
      problem ??= new Error('The endpoint has got a message that Usher did not sign', { cause: error });
      response.writeHead(400).end();
    }
  };
  const findNext = (type?: string) =>
    messages.find((message) => !returned.has(message) && (type === undefined || message.type === type));
  const disposables = stack.move();
  return {
    webhookId,
    ownerId,
    get attempts() {
      return receiver.messages.length;
    },
    async next<Type extends WebhookMessage['type']>(type?: Type) {
      const until = performance.now() + WAIT_MS;
      for (;;) {
        if (problem) throw problem;
        const message = findNext(type);
        if (message) {
          returned.add(message);
          return message as Extract<WebhookMessage, { type: Type }>;
        }
        if (performance.now() > until) break;
        await sleep(POLL_MS);
      }
      const others = messages.map((message) => message.type).join(', ') || 'nothing';
      throw new Error(`No new message ${type ?? ''} within ${WAIT_MS / 1_000} s; the endpoint has got ${others}`);
    },
    all: () => [...messages],
    fail(times = 1, status = 500) {
      failures.push(...Array<number>(times).fill(status));
    },
    forget() {
      messages.length = 0;
      failures.length = 0;
      receiver.messages.length = 0;
      returned.clear();
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
