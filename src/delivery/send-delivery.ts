/** Sends a delivery to its endpoint: a Standard Webhooks request, or a logout token. Each attempt has a span. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { RowCipher } from '../domain/crypto/aes-gcm.ts';
import { LOGOUT } from '../domain/outbox/event-types.ts';
import { toMessageId } from '../domain/webhooks/delivery.ts';
import type { AttemptRequest, Sender } from './attempt.ts';
import { type EndedAttempt, EXPIRED } from './delivery-state.ts';
import type { AttemptOutcome } from './http-exchange.ts';
import type { DueDelivery, Endpoint } from './queue.ts';

const tracer = trace.getTracer('usher');

/** Signs logout messages for applications of OpenID Connect. */
export interface LogoutTokens {
  /** Returns a new token for the payload of a message. Each attempt needs a new one: tokens expire after two minutes. */
  sign(payload: string, now: Date): Promise<string>;
}

export interface SendParts {
  readonly clock: () => Date;
  readonly logger: Logger;
  /** Undefined if OpenID Connect is off. */
  readonly logoutTokens?: LogoutTokens | undefined;
  readonly sender: Pick<Sender, 'send'>;
  readonly userAgent: string;
}

/** An endpoint, and the keys that sign its messages. */
interface Target {
  readonly applicationId: string;
  readonly webhookId: string;
  readonly url: string;
  readonly keys: readonly KeyObject[];
}

export function toTarget(
  ids: Pick<Target, 'applicationId' | 'webhookId'>,
  { url, signingKey, earlierSigningKeys }: Endpoint,
  cipher: RowCipher,
): Target {
  const earlier = earlierSigningKeys.map((key) => Buffer.from(key, 'base64'));
  // The endpoint for back-channel logout has an empty signing key: the key of ID tokens signs logout tokens.
  const encrypted = [signingKey, ...earlier].filter(({ length }) => length > 0);
  const row = { applicationId: ids.applicationId, id: ids.webhookId };
  const keys = encrypted.map((key) => readSigningKey(cipher.decrypt(key, row)));
  return { ...ids, url, keys };
}

/** Makes an attempt and logs it. An aborted signal ends the attempt at once. */
export async function sendDelivery(
  parts: SendParts,
  target: Target,
  delivery: DueDelivery,
  signal: AbortSignal,
): Promise<EndedAttempt> {
  const { clock, logger, sender } = parts;
  const { applicationId, webhookId } = target;
  const { payload, type } = delivery;
  const messageId = toMessageId(delivery.messageId);
  const at = clock();
  const startedAt = performance.now();
  let outcome = EXPIRED;
  if (payload !== null) {
    const attributes = { 'usher.webhook_id': webhookId, 'usher.message_id': messageId };
    const request =
      type === LOGOUT ? await toLogout(parts, target, payload) : toWebhook(parts, target, { ...delivery, payload }, at);
    outcome = request ? await sendInSpan(request, attributes, (traced) => sender.send(traced, signal)) : UNSIGNED;
  }
  const durationMs = Math.round(performance.now() - startedAt);
  const { statusCode, error } = outcome;
  const attempt = delivery.attemptCount + 1;
  logger.info({ applicationId, webhookId, messageId, type, attempt, statusCode, error, durationMs }, 'webhook attempt');
  return { delivery, at, durationMs, outcome };
}

function toWebhook(
  { userAgent }: SendParts,
  { url, keys }: Target,
  { messageId, payload }: { messageId: string; payload: string },
  at: Date,
): AttemptRequest {
  const id = toMessageId(messageId);
  const timestamp = Math.floor(at.getTime() / 1_000);
  const headers = {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signMessage({ id, timestamp, body: payload }, keys),
    'webhook-sequence': messageId,
  };
  return { url, headers, body: payload };
}

async function toLogout(
  { clock, logoutTokens, userAgent }: SendParts,
  { url }: Target,
  payload: string,
): Promise<AttemptRequest | undefined> {
  if (!logoutTokens) return undefined;
  const token = await logoutTokens.sign(payload, clock());
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': userAgent };
  return { url, headers, body: `logout_token=${token}` };
}

/** The outcome of an attempt to send a logout token while OpenID Connect is off in this process. */
const UNSIGNED: AttemptOutcome = { ...EXPIRED, error: 'OpenID Connect is off' };

/** Sends the request in a span, with headers such as `traceparent`. */
async function sendInSpan(
  request: AttemptRequest,
  attributes: Readonly<Record<string, string>>,
  send: (request: AttemptRequest) => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const span = tracer.startSpan('webhook attempt', { kind: SpanKind.CLIENT, attributes });
  const active = trace.setSpan(context.active(), span);
  const headers = { ...request.headers };
  propagation.inject(active, headers);
  const outcome = await context.with(active, () => send({ ...request, headers }));
  const { statusCode, error } = outcome;
  if (statusCode !== null) span.setAttribute('http.response.status_code', statusCode);
  if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  span.end();
  return outcome;
}

/**
 * Returns the value of `webhook-signature` of [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks): a signature for each signing key, so that a receiver needs only one of them.
 * The timestamp is in seconds.
 */
export function signMessage(
  { id, timestamp, body }: { id: string; timestamp: number; body: string },
  signingKeys: readonly KeyObject[],
): string {
  const content = `${id}.${timestamp}.${body}`;
  return signingKeys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`).join(' ');
}

/** Parses `whsec_…`. Node signs five times as fast with a `KeyObject` as with the bytes. */
export function readSigningKey(signingKey: string): KeyObject {
  // The text before the base64 is a prefix, not a part of the key.
  return createSecretKey(signingKey.replace(/^whsec_/, ''), 'base64');
}
