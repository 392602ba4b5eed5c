import { MAX_COUNTED } from '../statements/count-deliveries.ts';

/** Describes a count of messages. The statement stops counting at `MAX_COUNTED`. */
export function describeMessages(count: number): string {
  if (count >= MAX_COUNTED) return `${MAX_COUNTED.toLocaleString('en')} messages or more`;
  return `${count} ${count === 1 ? 'message' : 'messages'}`;
}
