/** An endpoint on this machine that keeps the messages it receives. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback, stopServer } from './loopback-server.ts';

export interface ReceivedMessage {
  /** Of `performance.now()`. */
  readonly at: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly id: string;
}

/** Answers a message. Without one, the receiver answers 204. */
type Respond = (message: ReceivedMessage, response: ServerResponse) => void;

export class WebhookReceiver implements AsyncDisposable {
  readonly messages: ReceivedMessage[] = [];
  url = '';
  respond: Respond = (_, response) => response.writeHead(204).end();
  readonly #server = createServer(async (request, response) => {
    // The sender may be killed.
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    const { url: path = '', headers } = request;
    const message = { at: performance.now(), path, headers, body, id: String(headers['webhook-id']) };
    this.messages.push(message);
    this.respond(message, response);
  });

  static async open(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.url = await listenOnLoopback(receiver.#server);
    return receiver;
  }

  /** Answers every message with the status from now on. */
  answer(status: number, headers: Record<string, string> = {}): void {
    this.respond = (_, response) => response.writeHead(status, headers).end();
  }

  /** Returns the messages that came to the path, with their JSON. */
  at(path: string) {
    return this.messages
      .filter((message) => message.path === path)
      .map((message) => ({ ...message, json: JSON.parse(message.body) as MessageJson }));
  }

  readonly [Symbol.asyncDispose] = () => stopServer(this.#server);
}

interface MessageJson {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}
