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
    return value.map((each, at) => acceptInside(`[${at}]`, () => item(each)));
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
    const violations: Violation[] = [];
    const values = entries.map(([name, accept]) => {
      try {
        return [name, acceptInside(`.${name}`, () => accept(fields[name]), { isNamed: true })];
      } catch (error) {
        if (!(error instanceof Unacceptable)) throw error;
        violations.push(...error.violations);
        return [];
      }
    });
    if (violations.length > 0) throw new Unacceptable('has violated fields', violations);
    return Object.fromEntries(values);
  });
}

/** Adds the place of a value to its violations. A violation of a list's item as a whole is one of the list. */
function acceptInside<T>(place: string, accept: () => T, { isNamed = false } = {}): T {
  try {
    return accept();
  } catch (error) {
    if (!(error instanceof Unacceptable)) throw error;
    const inside = error.violations.map(({ field, message }) => ({
      field: isNamed || field !== '' ? place + field : field,
      message,
    }));
    throw new Unacceptable(error.message, inside);
  }
}
