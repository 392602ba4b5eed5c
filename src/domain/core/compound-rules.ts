/** Rules for lists and objects, whose violations name the place inside them. */
import { isObject } from '../../encoding/json.ts';
import type { Violation } from './errors.ts';
import { type Rule, rule, Unacceptable } from './rule.ts';
import type { Checked } from './validation.ts';

/** Accepts an array of `min` to `max` items that pass the rule. */
export function listOf<T>(item: Rule<T>, { min, max }: { min: number; max: number }): Rule<T[]> {
  return rule({ type: 'array', items: item.schema, minItems: min, maxItems: max }, (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      throw new Unacceptable(`must be a list of ${min} to ${max}`);
    }
    return value.map((each, at) => {
      try {
        return item(each);
      } catch (error) {
        throw placeInside(`[${at}]`, error);
      }
    });
  });
}

/** Accepts an object whose fields pass their rules. Several of its fields may be violated at once. */
export function objectOf<Rules extends Record<string, Rule<unknown>>>(rules: Rules): Rule<Checked<Rules>> {
  const entries = Object.entries(rules);
  const required = entries.filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  const properties = Object.fromEntries(entries.map(([name, { schema }]) => [name, schema]));
  const schema = {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  } as const;
  return rule(schema, (value) => {
    if (!isObject(value)) throw new Unacceptable('must be an object');
    const fields: Readonly<Record<string, unknown>> = value;
    const values: Record<string, unknown> = {};
    const violations: Violation[] = [];
    // Without closures: a request may have hundreds of objects.
    for (const [name, accept] of entries) {
      try {
        values[name] = accept(fields[name]);
      } catch (error) {
        violations.push(...placeInside(`.${name}`, error, { isNamed: true }).violations);
      }
    }
    if (violations.length > 0) throw new Unacceptable('has violated fields', violations);
    // Each rule has returned the value of its name.
    return values as Checked<Rules>;
  });
}

/**
 * Adds the place of a value to the violations of its error. A violation of a list's item as a whole is one of the list.
 *
 * @throws the error if it is another one
 */
function placeInside(place: string, error: unknown, { isNamed = false } = {}): Unacceptable {
  if (!(error instanceof Unacceptable)) throw error;
  const inside = error.violations.map(({ field, message }) => ({
    field: isNamed || field !== '' ? place + field : field,
    message,
  }));
  return new Unacceptable(error.message, inside);
}
