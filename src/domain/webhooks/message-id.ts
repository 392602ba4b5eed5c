/** IDs of messages: `msg_` and the number that orders the messages of an application. */

/** Returns the ID as callers and receivers see it. */
export function toMessageId(id: string): string {
  return `msg_${id}`;
}

/** Returns the number in an ID, or undefined for a text that is none. */
export function parseMessageId(messageId: string): string | undefined {
  const [, id] = /^msg_([1-9]\d{0,17})$/.exec(messageId) ?? [];
  return id;
}
