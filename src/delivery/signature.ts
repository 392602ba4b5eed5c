/** Signatures of Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/**
 * Returns the value of `webhook-signature`: a signature for each signing key, so that a receiver needs only one of them.
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
