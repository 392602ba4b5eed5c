/**
 * IDs of webhooks and of messages. A message ID is `msg_` and a number by which the messages of an application are
 * ordered.
 */
import { ServiceError } from '../core/errors.ts';
import { type Rule, rule } from '../core/rule.ts';
import { anyString, textThat } from '../core/validation.ts';

/** Accepts the ID of a webhook and returns it in lower case. @throws ServiceError `Invalid webhook ID format` */
export const webhookId: Rule<string> = rule(anyString.schema, (value) => {
  const id = anyString(value);
  if (!/^wh_[0-9a-fA-F]{32}$/.test(id)) throw new ServiceError('INVALID_WEBHOOK_ID');
  return id.toLowerCase();
});

const messageIdText = textThat((text) => /^msg_[1-9]\d{0,17}$/.test(text), 'must be a message ID', {
  max: 255,
  format: 'message-id',
});
/** Accepts the ID of a message and returns its number. */
export const messageId: Rule<string> = rule(messageIdText.schema, (value) => numberOf(messageIdText(value)));

/** Returns the ID as callers and receivers see it. */
export function toMessageId(number: string): string {
  return `msg_${number}`;
}

/** Returns the number as text, because it may exceed the safe integers. */
export function numberOf(id: string): string {
  return id.slice('msg_'.length);
}
