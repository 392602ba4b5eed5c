/** What the answers of `CALLERS` look like, for tables of cases. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Answer } from './callers.ts';

export function validationFailed(...fields: string[]): Answer {
  return { code: 'invalid_argument', message: 'Validation failed', fields, data: undefined };
}

export function refusal(code: string, message: string): Answer {
  return { code, message, fields: [], data: undefined };
}

/** A success of an RPC; REST has a message for it and, with no data, nothing else. */
export function success(data: JsonValue | undefined, restMessage?: string): Answer {
  return { code: 'ok', message: restMessage, fields: [], data };
}

export function fieldOf(data: JsonValue | undefined, name: string): string {
  return String((data as JsonObject)[name]);
}

/** The object without one of its fields. */
export function without(fields: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
}
