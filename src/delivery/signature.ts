/** Signatures of Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks */
import { createHmac } from 'node:crypto';

export interface SignedMessage {
  readonly id: string;
  /** In seconds. */
  readonly timestamp: number;
  readonly body: string;
}

/** Returns the value of `webhook-signature`: an entry for each signing key, so that receivers may know any of them. */
export function signMessage({ id, timestamp, body }: SignedMessage, signingKeys: readonly string[]): string {
  const content = `${id}.${timestamp}.${body}`;
  return signingKeys
    .map((key) => `v1,${createHmac('sha256', decodeKey(key)).update(content).digest('base64')}`)
    .join(' ');
}

/** The text before the base64 is a prefix, not a part of the key. */
function decodeKey(signingKey: string): Buffer {
  return Buffer.from(signingKey.replace(/^whsec_/, ''), 'base64');
}
