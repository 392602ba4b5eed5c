import { channel } from 'node:diagnostics_channel';
import type { Violation } from './errors.ts';

/** A JSON Schema (2020-12). The API reference shows it, so that documented limits are the enforced ones. */
export interface Schema {
  readonly type: 'string' | 'integer' | 'boolean' | 'array' | 'object';
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false;
}

/** Returns the value of a field. @throws Unacceptable, or a ServiceError if the field has an error of its own */
export interface Rule<T> {
  (value: unknown): T;
  /** Describes the accepted values. */
  readonly schema: Schema;
  /** Whether the field may be missing. */
  readonly isOptional: boolean;
  /** Whether null is accepted. */
  readonly isNullable: boolean;
  /** The field that may be there instead: a request has at least one of the two. */
  readonly alternative: string | undefined;
}

interface RuleOptions {
  readonly isOptional?: boolean;
  readonly isNullable?: boolean;
  readonly alternative?: string;
}

/** A diagnostics channel: `check` publishes its rules, and the generator of the API reference listens. */
export const checkedRules = channel('usher.validation');

/**
 * Patterns of schemas. They mean the same in Python and in JavaScript, with the flag `u` and without one, as generated
 * code has them. So they have no classes of Unicode. Without flags, a character beyond U+FFFF is a pair of surrogates.
 */
const PAIR = '[\\uD800-\\uDBFF][\\uDC00-\\uDFFF]';
/** The end of the text. In Python, `$` alone also matches before a last line feed. */
const END = '$(?!\\n)';

/** Matches text without NUL and without lone surrogates. */
export const WELL_FORMED = `^(?:[^\\x00\\uD800-\\uDFFF]|${PAIR})*$`;

/** The same without control characters. */
export const WITHOUT_CONTROLS = `^(?:[^\\x00-\\x1F\\x7F-\\x9F\\uD800-\\uDFFF]|${PAIR})*${END}`;

/** Matches ASCII text without NUL, in which `maxLength` counts bytes. */
export const ASCII = '^[\\x01-\\x7F]*$';

/** Returns the pattern of a schema for a whole text in ASCII. */
export function patternOf({ source }: RegExp): string {
  return source.replace(/\$$/, () => END);
}

/** A value that does not pass its rule. `violations` name the fields inside the value, such as `[0].name`. */
export class Unacceptable extends Error {
  readonly violations: readonly Violation[];

  constructor(message: string, violations: readonly Violation[] = [{ field: '', message }]) {
    super(message);
    this.violations = violations;
  }
}

export function rule<T>(
  schema: Schema,
  accept: (value: unknown) => T,
  { isOptional = false, isNullable = false, alternative }: RuleOptions = {},
): Rule<T> {
  return Object.assign(accept, { schema, isOptional, isNullable, alternative });
}

/** Returns the length in code points, as JSON Schema counts it. */
export function countCodePoints(string: string): number {
  let count = 0;
  for (const _ of string) count++;
  return count;
}
