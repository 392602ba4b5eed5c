/** Sends a delivery to its endpoint. */
import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import { toMessageId } from '../domain/webhooks/ids.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';
import type { Sender } from './attempt.ts';
import { type Attempted, EXPIRED } from './attempt-result.ts';
import { sendInSpan } from './attempt-span.ts';
import type { DueDelivery, Endpoint } from './queue.ts';
import { createRequest } from './request.ts';
import { readSigningKey } from './signature.ts';

export interface SendParts {
  readonly clock: () => Date;
  readonly logger: Logger;
  readonly sender: Pick<Sender, 'send'>;
  readonly userAgent: string;
}

/** Where messages go, and what signs them. */
export interface Target {
  readonly applicationId: string;
  readonly webhookId: string;
  readonly url: string;
  readonly keys: readonly KeyObject[];
}

export function toTarget(
  ids: Pick<Target, 'applicationId' | 'webhookId'>,
  { url, signingKey, earlierSigningKeys }: Endpoint,
  cipher: SigningKeyCipher,
): Target {
  const earlier = earlierSigningKeys.map((key) => Buffer.from(key, 'base64'));
  const keys = [signingKey, ...earlier].map((key) => readSigningKey(cipher.decrypt(key, ids)));
  return { ...ids, url, keys };
}

/** Makes an attempt and logs it. An aborted signal ends it at once. */
export async function sendDelivery(
  { clock, logger, sender, userAgent }: SendParts,
  { applicationId, webhookId, url, keys }: Target,
  delivery: DueDelivery,
  signal: AbortSignal,
): Promise<Attempted> {
  const { payload, type } = delivery;
  const messageId = toMessageId(delivery.messageId);
  const at = clock();
  const startedAt = performance.now();
  const outcome =
    payload === null
      ? EXPIRED
      : await sendInSpan(
          createRequest(url, { messageId: delivery.messageId, body: payload, at }, keys, userAgent),
          { 'usher.webhook_id': webhookId, 'usher.message_id': messageId },
          (request) => sender.send(request, signal),
        );
  const durationMs = Math.round(performance.now() - startedAt);
  const { statusCode, error } = outcome;
  const attempt = delivery.attemptCount + 1;
  logger.info({ applicationId, webhookId, messageId, type, attempt, statusCode, error, durationMs }, 'webhook attempt');
  return { delivery, at, durationMs, outcome };
}
