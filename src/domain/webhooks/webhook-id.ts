import { ServiceError } from '../errors.ts';
import { text } from '../validation.ts';

/** The longest message: the format has an error of its own. */
export const webhookIdText = text({ max: 65_536 });

/** Returns the ID in lower case. @throws ServiceError `Invalid webhook ID format` */
export function parseWebhookId(given: string): string {
  if (!/^wh_[0-9a-fA-F]{32}$/.test(given)) throw new ServiceError('INVALID_WEBHOOK_ID');
  return given.toLowerCase();
}
