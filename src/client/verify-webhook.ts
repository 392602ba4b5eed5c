/** Verifies messages of webhooks (https://www.standardwebhooks.com) with WebCrypto. */
import type { WebhookMessage } from './webhook-message.ts';

const PREFIX = 'whsec_';
/** Limits clock skew between Usher and the receiver, and how long an attacker can replay a message. */
const TOLERANCE_SECONDS = 5 * 60;

/** The message is not from Usher, or is too old. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  /** Express answers with this status. */
  readonly status = 400;
}

type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns the message if Usher signed it within the last five minutes.
 *
 * @param secret the signing key of the webhook, `whsec_…`
 * @param body the body as it arrived, because parsing and serializing JSON changes its bytes
 * @throws WebhookVerificationError, or TypeError if the secret or the body has the wrong form
 */
export async function verifyWebhook(
  secret: string,
  headers: WebhookHeaders,
  body: string | Uint8Array,
): Promise<WebhookMessage> {
  return verifyWebhookAt(Date.now(), secret, headers, body);
}

/** The same by another clock. @param now in milliseconds since 1970 */
export async function verifyWebhookAt(
  now: number,
  secret: string,
  headers: WebhookHeaders,
  body: string | Uint8Array,
): Promise<WebhookMessage> {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError('The body must be the text or the bytes that arrived, such as those of express.raw()');
  }
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature').split(' ');
  const age = Math.abs(now / 1000 - Number(timestamp));
  if (!/^\d+$/.test(timestamp) || age > TOLERANCE_SECONDS) {
    throw new WebhookVerificationError('The message is too old or too new, or the clock of this machine is wrong');
  }
  const key = await importKey(secret);
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const signature of signatures) {
    if (await isSignature(key, signature, signed)) return { ...JSON.parse(text), id };
  }
  throw new WebhookVerificationError(
    'No signature matches: the key belongs to another webhook, or the body has changed',
  );
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const value = entries.find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`The header ${name} is missing`);
  return value;
}

async function importKey(secret: string) {
  const bytes = secret.startsWith(PREFIX) ? decodeBase64(secret.slice(PREFIX.length)) : undefined;
  if (!bytes?.length) throw new TypeError(`The secret is not ${PREFIX} followed by base64`);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** Uses `verify`, which compares in constant time. */
async function isSignature(
  key: Awaited<ReturnType<typeof importKey>>,
  signature: string,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const bytes = signature.startsWith('v1,') ? decodeBase64(signature.slice('v1,'.length)) : undefined;
  return bytes !== undefined && (await crypto.subtle.verify('HMAC', key, bytes, signed));
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
