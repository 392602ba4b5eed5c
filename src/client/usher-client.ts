/** The client of applications: calls over Connect with `fetch`, so that it runs wherever `fetch` does. */
import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';

export { type FinishLoginOptions, finishLogin, LoginError, type StartLoginOptions, startLogin } from './login.ts';
export { verifyWebhook, type WebhookMessage, WebhookVerificationError } from './verify-webhook.ts';

const DEFAULT_TIMEOUT_MS = 10_000;

export interface UsherClientOptions {
  /** Where the application reaches Usher, such as `https://login.example.com`. */
  readonly baseUrl: string;
  /** The API key of the application. A secret: keep it on the server. */
  readonly apiKey: string;
  /** How long a call may take. Default: 10 seconds. */
  readonly timeoutMs?: number;
  /** Default: the `fetch` of the runtime. */
  readonly fetch?: typeof globalThis.fetch;
}

/** The services that take an API key, with the types of their requests and responses. */
export interface UsherClient {
  readonly baseUrl: string;
  readonly auth: Client<typeof AuthService>;
  readonly events: Client<typeof EventService>;
  readonly sessions: Client<typeof SessionService>;
  readonly webhooks: Client<typeof WebhookService>;
}

/** Creates the client of an application. Failed calls reject with a `ConnectError`. */
export function createUsherClient(options: UsherClientOptions): UsherClient {
  const { baseUrl, apiKey, timeoutMs = DEFAULT_TIMEOUT_MS, fetch = globalThis.fetch } = options;
  if (!apiKey) throw new TypeError('apiKey is empty');
  if (!URL.canParse(baseUrl)) throw new TypeError('baseUrl is not a URL');
  const sendApiKey: Interceptor = (next) => (request) => {
    request.header.set('X-API-Key', apiKey);
    return next(request);
  };
  const transport = createConnectTransport({
    baseUrl,
    defaultTimeoutMs: timeoutMs,
    interceptors: [sendApiKey],
    fetch: (...request) => fetch(...request).catch(throwUnavailable),
  });
  return {
    baseUrl,
    auth: createClient(AuthService, transport),
    events: createClient(EventService, transport),
    sessions: createClient(SessionService, transport),
    webhooks: createClient(WebhookService, transport),
  };
}

/** `fetch` rejects with a TypeError when the network fails, which is as temporary as a 503. */
function throwUnavailable(error: unknown): never {
  if (!(error instanceof TypeError)) throw error;
  throw new ConnectError('Usher cannot be reached', Code.Unavailable, undefined, undefined, error);
}
