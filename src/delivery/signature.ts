/** Signatures of Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/**
 * Returns the value of `webhook-signature`: an entry for each signing key, so that receivers may know any of them.
 * The timestamp is in seconds.
 */
export function signMessage(
  { id, timestamp, body }: { id: string; timestamp: number; body: string },
  signingKeys: readonly KeyObject[],
): string {
  const content = `${id}.${timestamp}.${body}`;
  return signingKeys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`).join(' ');
}

/** Returns the key of the text `whsec_…`. Node takes five times as long to sign with its bytes. */
export function readSigningKey(signingKey: string): KeyObject {
  // The text before the base64 is a prefix, not a part of the key.
  return createSecretKey(signingKey.replace(/^whsec_/, ''), 'base64');
}
