/** Opens the webhook of the demo. It sends messages to the demo application. */
import type { ApplicationCall } from '../../domain/core/call.ts';
import { EVERY_TYPE } from '../../domain/outbox/event-types.ts';
import { addApplicationUser } from '../../domain/users/add-application-user.ts';
import { createWebhook } from '../../domain/webhooks/create-webhook.ts';
import { getWebhook } from '../../domain/webhooks/get-webhook.ts';
import { updateWebhook } from '../../domain/webhooks/update-webhook.ts';
import { findUrlProblem } from '../../domain/webhooks/webhook-url.ts';
import type { DemoParts } from './demo-parts.ts';

export const RECEIVER_PATH = '/demo/hooks';
/** The URL of the webhook while the settings forbid webhooks to this machine. */
const PLACEHOLDER = 'https://example.com/hooks';

/** Returns the ID of the webhook. Updates its URL, because the port may have changed. Creates another one if it was deleted. */
export async function openWebhook(
  call: ApplicationCall,
  parts: Pick<DemoParts, 'url' | 'cipher' | 'policy' | 'webhooksPerApplication'>,
  { webhookId, userId }: { webhookId: string; userId: string },
): Promise<string> {
  const url = new URL(RECEIVER_PATH, parts.url).href;
  // The settings may forbid this machine or its port.
  const isAllowed = findUrlProblem(url, parts.policy) === undefined;
  const target = isAllowed ? { url, eventTypes: [EVERY_TYPE] } : { url: PLACEHOLDER, eventTypes: ['webhook.test'] };
  const kept = await getWebhook(call, parts.cipher, { webhookId }).catch(() => undefined);
  if (!kept) {
    await addApplicationUser(call, { applicationId: call.application.id, userId });
    return (await createWebhook(call, parts, { ...target, ownerId: userId })).id;
  }
  // Otherwise the developer has given the webhook another URL, which stays.
  const isUnchanged = kept.url === PLACEHOLDER || new URL(kept.url).pathname === RECEIVER_PATH;
  if (isUnchanged) await updateWebhook(call, parts, { ...target, webhookId, isActive: true });
  return kept.id;
}
