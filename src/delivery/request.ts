/** The request of an attempt, as Standard Webhooks has it. */
import type { KeyObject } from 'node:crypto';
import { toMessageId } from '../domain/webhooks/ids.ts';
import type { AttemptRequest } from './attempt.ts';
import { signMessage } from './signature.ts';

export interface SentMessage {
  readonly messageId: string;
  readonly body: string;
  readonly at: Date;
}

/** Returns the request, signed with every key. */
export function createRequest(
  url: string,
  { messageId, body, at }: SentMessage,
  signingKeys: readonly KeyObject[],
  userAgent: string,
): AttemptRequest {
  const id = toMessageId(messageId);
  const timestamp = Math.floor(at.getTime() / 1_000);
  const headers = {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signMessage({ id, timestamp, body }, signingKeys),
    'webhook-sequence': messageId,
  };
  return { url, headers, body };
}
