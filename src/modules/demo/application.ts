/** Routes the requests to the demo: its two applications and the receiver of its webhook. */
import { verifyWebhook, WebhookVerificationError } from '../../client/verify-webhook.ts';
import { readBody, sendJson } from '../../http/exchange.ts';
import type { HttpContext, PathHandler } from '../../http/http-context.ts';
import { sendPage, sendRedirect } from '../../login-page/pages/responses.ts';
import type { Demo } from './demo.ts';
import type { DemoParts } from './demo-parts.ts';
import { CAFE, DEMO, renderMessage } from './pages.ts';
import { type Actions, type CallUsher, createCall, createSite } from './site.ts';
import { RECEIVER_PATH } from './webhook.ts';

const MAX_WEBHOOK_BYTES = 256 * 1024;
const WEBHOOK_TIMEOUT_MS = 5_000;

/** Returns the handler. `print` writes to the terminal. */
export function createDemoApplication(demo: Demo, parts: DemoParts, print: (text: string) => void): PathHandler {
  const { clock, url } = parts;
  const { accountUrl, cafe, methods, webhookId } = demo;
  const email = demo.canSignIn ? demo.email : undefined;
  const shared = { accountUrl, email, methods };
  const callAsDemo = createCall(url, demo.apiKey);
  const actions: Actions = {
    ...createSite(demo, { ...DEMO, ...shared, other: CAFE }, callAsDemo, clock),
    ...createSite(cafe, { ...CAFE, ...shared, other: DEMO }, createCall(url, cafe.apiKey), clock),
    ...createReceiver(webhookId, callAsDemo, print),
  };

  return async (context) => {
    const action = actions[`${context.request.method} ${context.path}`];
    if (!action) return false;
    const otherPlace = findOtherPlace(context, demo);
    if (otherPlace) {
      sendRedirect(context, otherPlace);
      return true;
    }
    try {
      await action(context);
    } catch (error) {
      // Usher may be unreachable at its own URL, for example because its TLS certificate is self-signed or for another host.
      const { cause = error } = error instanceof Error ? error : {};
      sendPage(context, 502, renderMessage(DEMO, 'The demo cannot reach Usher', `${url}: ${cause}`));
    }
    return true;
  };
}

/**
 * Returns the page at 127.0.0.1 for a browser that opens it at localhost: sign-ins return to 127.0.0.1, and a cookie of
 * one is not sent to the other. Keeps the port, because a tunnel may have another.
 */
function findOtherPlace({ headers, path, request }: HttpContext, { homeUrl }: Demo): string | undefined {
  if (request.method !== 'GET' || ![DEMO.path, CAFE.path].includes(path)) return undefined;
  const host = String(headers.host ?? headers[':authority'] ?? '');
  const isOther = homeUrl.startsWith('http://127.0.0.1') && /^localhost(:\d+)?$/i.test(host);
  return isOther ? `http://${host.replace(/^localhost/i, '127.0.0.1')}${path}` : undefined;
}

/** Prints messages that Usher signed. Prints repeated messages, too; real receivers should handle each `id` once. */
function createReceiver(webhookId: string, callUsher: CallUsher, print: (text: string) => void): Actions {
  return {
    async [`POST ${RECEIVER_PATH}`](context) {
      // Reads the signing key each time, because the developer may have rotated it.
      const { data: webhook, message } = await callUsher<{ signingKey: string }>(`/api/webhooks/${webhookId}`);
      if (!webhook) throw new Error(message);
      const body = await readBody(context.request, MAX_WEBHOOK_BYTES, performance.now() + WEBHOOK_TIMEOUT_MS);
      try {
        const { type, data } = await verifyWebhook(webhook.signingKey, context.headers, body);
        print(`  WEBHOOK ${type} ${JSON.stringify(data)}\n`);
        sendJson(context, 200, '{}');
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error;
        sendJson(context, 401, JSON.stringify({ error: error.message }));
      }
    },
  };
}
