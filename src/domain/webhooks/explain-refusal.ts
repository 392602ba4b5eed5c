import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { requireWebhook } from './get-webhook.ts';

/** Returns why nothing was done: the webhook is missing or not active, or else its delivery is missing. */
export async function explainRefusal(call: ApplicationCall, webhookId: string): Promise<ServiceError> {
  const { isActive } = await requireWebhook(call, webhookId);
  return isActive ? new ServiceError('DELIVERY_NOT_FOUND') : new ServiceError('WEBHOOK_NOT_ACTIVE');
}
