import { verifyWebhook, WebhookVerificationError } from '../client/verify-webhook.ts';
import type { HttpContext } from '../http/http-context.ts';
import { readBody } from '../http/read-body.ts';
import { sendJson } from '../http/response.ts';

const MAX_BYTES = 256 * 1024;
const TIMEOUT_MS = 5_000;

/** Prints a message that Usher signed. It would handle each `id` once, if it did more than that. */
export async function receiveMessage(
  context: HttpContext,
  signingKey: string,
  print: (text: string) => void,
): Promise<void> {
  const { request, headers } = context;
  const body = await readBody(request, MAX_BYTES, performance.now() + TIMEOUT_MS);
  try {
    const { type, data } = await verifyWebhook(signingKey, headers, body);
    print(`  WEBHOOK ${type} ${JSON.stringify(data)}\n`);
    sendJson(context, 200, '{}');
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    sendJson(context, 401, JSON.stringify({ error: error.message }));
  }
}
