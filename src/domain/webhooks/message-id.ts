/** The ID of a message is `msg_` and a number by which the messages of an application are ordered. */
import { type Rule, rule } from '../core/rule.ts';
import { textThat } from '../core/validation.ts';

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
