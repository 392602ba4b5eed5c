/** Rules for text that represents an instant, or one of several values. */
import { type Rule, rule, Unacceptable } from './rule.ts';
import { anyString, textThat } from './validation.ts';

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

const isoText = textThat(
  (text) => ISO_8601.test(text) && !Number.isNaN(Date.parse(text)),
  'must be an instant in ISO 8601 with a time zone',
  { max: 64, format: 'date-time' },
);
/** Accepts an instant in ISO 8601 with its time zone, such as `2026-03-01T12:00:00.120Z`. */
export const instantText: Rule<Date> = rule(isoText.schema, (value) => new Date(isoText(value)));

export function oneOf<T extends string>(values: readonly T[]): Rule<T> {
  return rule({ type: 'string', enum: values }, (given) => {
    const text = anyString(given);
    const known = values.find((value) => value === text);
    if (known === undefined) throw new Unacceptable(`must be one of ${values.join(', ')}`);
    return known;
  });
}
