/** The client of applications. It calls Usher over Connect, and runs on every runtime that has `fetch`. */
import { type Client, createClient } from '@connectrpc/connect';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { MessageService } from '../../gen/usher/v1/message_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { TokenService } from '../../gen/usher/v1/token_pb.ts';
import { UserService } from '../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { type FollowedMessages, type FollowOptions, followMessages } from './follow-messages.ts';
import { toBase64url } from './login.ts';
import { createTransport, requireKey, type TransportOptions } from './transport.ts';

export { type FieldProblem, fieldsOf, reasonOf } from './errors.ts';
export type { FollowedMessage, FollowedMessages, FollowOptions } from './follow-messages.ts';
export { type FinishLoginOptions, finishLogin, LoginError, type StartLoginOptions, startLogin } from './login.ts';
export { verifyWebhook, WebhookVerificationError } from './verify-webhook.ts';
export type { WebhookData, WebhookMessage, WebhookUser } from './webhook-message.ts';

export interface UsherClientOptions extends TransportOptions {
  /** The API key of the application. A secret: keep it on the server. */
  readonly apiKey: string;
}

/** The services that take an API key, with the types of their requests and responses. */
export interface UsherClient {
  readonly baseUrl: string;
  readonly auth: Client<typeof AuthService>;
  readonly events: Client<typeof EventService>;
  readonly messages: MessageReader;
  readonly sessions: Client<typeof SessionService>;
  readonly tokens: Client<typeof TokenService>;
  readonly users: Client<typeof UserService>;
  readonly webhooks: Client<typeof WebhookService>;
  /** Returns an HMAC-SHA-256 of the text with the API key, in base64url. It protects cookies of the application. */
  readonly sign: (text: string) => Promise<string>;
}

/** The messages of the application, as its webhooks get them. The operator turns them on with `messageFeed`. */
export interface MessageReader extends Pick<Client<typeof MessageService>, 'listMessages'> {
  /**
   * Yields messages after a cursor, and then new ones as they come, until the signal is aborted. Connects again by itself.
   *
   * @throws ConnectError that another attempt would not mend, such as `CURSOR_EXPIRED` or `INVALID_API_KEY`
   */
  watch(options?: FollowOptions): AsyncGenerator<FollowedMessages, void, void>;
}

/** Creates the client of an application. Failed calls reject with a `ConnectError`. */
export function createUsherClient(options: UsherClientOptions): UsherClient {
  requireKey('apiKey', options.apiKey);
  const transport = createTransport(options, { 'X-API-Key': options.apiKey });
  const messages = createClient(MessageService, transport);
  return {
    baseUrl: options.baseUrl,
    auth: createClient(AuthService, transport),
    events: createClient(EventService, transport),
    messages: {
      listMessages: messages.listMessages,
      watch: (watching) => followMessages(messages, watching),
    },
    sessions: createClient(SessionService, transport),
    tokens: createClient(TokenService, transport),
    users: createClient(UserService, transport),
    webhooks: createClient(WebhookService, transport),
    sign: createSigner(options.apiKey),
  };
}

function createSigner(apiKey: string): UsherClient['sign'] {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return async (text) => {
    const key = await crypto.subtle.importKey('raw', encoder.encode(apiKey), algorithm, false, ['sign']);
    return toBase64url(new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text))));
  };
}
