/** Reads the messages of an application for as long as it likes, across restarts of Usher and lost connections. */
import { type Client, Code, ConnectError } from '@connectrpc/connect';
import type { Message, MessageService } from '../../gen/usher/v1/message_pb.ts';
import { reasonOf } from './errors.ts';
import type { WebhookData } from './webhook-message.ts';

/** Usher sends something every 15 seconds. After three times as long, the connection counts as lost. */
const SILENCE_MS = 45_000;
/** The wait before the next attempt is random, so that readers of a restarted Usher do not return together. */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;

const TRANSIENT = [Code.Aborted, Code.DeadlineExceeded, Code.Internal, Code.ResourceExhausted, Code.Unavailable];
/** Answers of another server, and requests that cannot be written. A broken connection has many codes, none of these. */
const FINAL = [Code.Internal, Code.PermissionDenied, Code.Unauthenticated, Code.Unimplemented];

/** A message as webhooks get it. Compare `type` to narrow `data`. A later version of Usher adds types. */
export type FollowedMessage = {
  [Type in keyof WebhookData]: Omit<Message, 'type' | 'data'> & {
    readonly type: Type;
    readonly data: WebhookData[Type];
  };
}[keyof WebhookData];

export interface FollowedMessages {
  /** Oldest first. Empty if there is only a new cursor. A message may come again: handle each `messageId` once. */
  readonly messages: readonly FollowedMessage[];
  /** Store it with the effects of the messages, also if there are none: old cursors expire. */
  readonly cursor: string;
}

export interface FollowOptions {
  /** The cursor that you have stored. `oldest`: the oldest message that is kept. Default: from now on. */
  readonly cursor?: string | undefined;
  /** Default: all types. */
  readonly eventTypes?: readonly (keyof WebhookData)[];
  /** Ends the loop when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Gets each error after which the client connects again. */
  readonly onRetry?: (error: unknown) => void;
}

type MessageClient = Pick<Client<typeof MessageService>, 'watchMessages'>;

/**
 * Yields messages, and then new ones as they come. Connects again from the last cursor.
 *
 * @throws ConnectError that another attempt would not mend, such as `CURSOR_EXPIRED` or `INVALID_API_KEY`
 */
export async function* followMessages(
  client: MessageClient,
  { cursor = '', eventTypes = [], signal, onRetry }: FollowOptions = {},
  silenceMs: number = SILENCE_MS,
): AsyncGenerator<FollowedMessages, void, void> {
  let last = cursor;
  for (let attempt = 0; !signal?.aborted; attempt++) {
    const openedAt = performance.now();
    try {
      const request = { cursor: last, eventTypes: [...eventTypes] };
      for await (const response of readStream(client, request, signal, silenceMs)) {
        yield response;
        last = response.cursor;
        if (signal?.aborted) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (isFinal(error)) throw error;
      onRetry?.(error);
    }
    if (performance.now() - openedAt > MAX_WAIT_MS) attempt = 0;
    await pause(Math.random() * Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt), signal);
  }
}

/** Yields the responses of one stream. Fails if nothing comes for `silenceMs`, unless the caller is still busy. */
async function* readStream(
  client: MessageClient,
  request: { readonly cursor: string; readonly eventTypes: string[] },
  signal: AbortSignal | undefined,
  silenceMs: number,
): AsyncGenerator<FollowedMessages> {
  const stream = new AbortController();
  const leave = () => stream.abort();
  signal?.addEventListener('abort', leave);
  const startTimer = () =>
    setTimeout(() => stream.abort(new ConnectError('Usher has sent no heartbeat', Code.Unavailable)), silenceMs);
  let timer = startTimer();
  try {
    for await (const { messages, cursor } of client.watchMessages(request, { signal: stream.signal, timeoutMs: 0 })) {
      clearTimeout(timer);
      // The schema has a text as the type, and any object as the data.
      yield { messages: messages as unknown as FollowedMessage[], cursor };
      timer = startTimer();
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
    leave();
  }
}

function isFinal(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return reasonOf(error) ? !TRANSIENT.includes(code) : FINAL.includes(code);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}
