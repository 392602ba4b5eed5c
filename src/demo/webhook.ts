/** The webhook of the demo, which tells the demo application what happens. */
import type { ApplicationCall } from '../domain/call.ts';
import { addApplicationUser } from '../domain/users/add-application-user.ts';
import { createWebhook } from '../domain/webhooks/create-webhook.ts';
import { EVERY_TYPE } from '../domain/webhooks/event-types.ts';
import { getWebhook } from '../domain/webhooks/get-webhook.ts';
import { updateWebhook } from '../domain/webhooks/update-webhook.ts';
import { findUrlProblem } from '../domain/webhooks/webhook-url.ts';
import type { DemoParts } from './demo.ts';

/** Where the demo application receives messages. */
export const RECEIVER_PATH = '/demo/hooks';
/** Of a demo that cannot be reached. */
const PLACEHOLDER = 'https://example.com/hooks';

/** Returns the ID of the webhook, or of a new one if it was deleted. It follows the server to another port. */
export async function openWebhook(
  call: ApplicationCall,
  parts: Pick<DemoParts, 'url' | 'cipher' | 'policy'>,
  { webhookId, userId }: { webhookId: string; userId: string },
): Promise<string> {
  const url = new URL(RECEIVER_PATH, parts.url).href;
  // Settings may forbid to send to this machine, or to its port.
  const isAllowed = findUrlProblem(url, parts.policy) === undefined;
  const target = isAllowed ? { url, eventTypes: [EVERY_TYPE] } : { url: PLACEHOLDER, eventTypes: [] };
  const kept = await getWebhook(call, parts.cipher, { webhookId }).catch(() => undefined);
  if (!kept) {
    await addApplicationUser(call, { applicationId: call.application.id, userId });
    return (await createWebhook(call, parts, { ...target, ownerId: userId })).id;
  }
  // People who try Usher may have pointed it elsewhere.
  const isOwn = kept.url === PLACEHOLDER || new URL(kept.url).pathname === RECEIVER_PATH;
  if (isOwn) await updateWebhook(call, parts, { ...target, webhookId, isActive: true });
  return kept.id;
}
