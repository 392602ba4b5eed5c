import { ServiceError } from '../errors.ts';

/** Returns the ID in lower case. @throws ServiceError `Invalid webhook ID format` */
export function parseWebhookId(given: string): string {
  if (!/^wh_[0-9a-fA-F]{32}$/.test(given)) throw new ServiceError('INVALID_WEBHOOK_ID');
  return given.toLowerCase();
}
