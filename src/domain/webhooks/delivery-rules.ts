/** Rules for the requests about deliveries. */
import { type Rule, textThat } from '../validation.ts';
import { parseMessageId } from './message-id.ts';

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

export const messageIdText = textThat((text) => parseMessageId(text) !== undefined, 'must be a message ID', {
  max: 255,
});

/** Accepts an instant in ISO 8601 with its time zone, as `2026-03-01T12:00:00.120Z`. */
export const instantText: Rule<Date> = (value) => new Date(isoText(value));

const isoText = textThat(
  (text) => ISO_8601.test(text) && !Number.isNaN(Date.parse(text)),
  'must be an instant in ISO 8601 with a time zone',
  { max: 64 },
);

/** Accepts one of the values. */
export function oneOf<T extends string>(values: readonly T[]): Rule<T> {
  const isKnown = (text: string) => (values as readonly string[]).includes(text);
  // The text is one of the values.
  return textThat(isKnown, `must be one of ${values.join(', ')}`, { max: 255 }) as Rule<T>;
}
