import { type Rule, rule, Unacceptable } from './rule.ts';

/** Accepts a Date of the years 1 to 9999. */
const instant: Rule<Date> = rule({ type: 'string', format: 'date-time' }, (value) => {
  if (value === undefined) throw new Unacceptable('is required');
  const isInstant = value instanceof Date && value >= FIRST_INSTANT && value <= LAST_INSTANT;
  if (!isInstant) throw new Unacceptable('must be a time');
  return value;
});
const FIRST_INSTANT = new Date('0001-01-01T00:00:00Z');
const LAST_INSTANT = new Date('9999-12-31T23:59:59.999Z');

/** Accepts an instant that is later than `now`. */
export function after(now: Date): Rule<Date> {
  return rule(instant.schema, (value) => {
    const accepted = instant(value);
    if (accepted <= now) throw new Unacceptable('must be in the future');
    return accepted;
  });
}
