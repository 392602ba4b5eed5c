/** Answers to expect, for tables of cases. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Answer } from './protocols.ts';

export function validationFailed(...fields: string[]): Answer {
  return { code: 'invalid_argument', message: 'Validation failed', fields, data: undefined };
}

export function refusal(code: string, message: string): Answer {
  return { code, message, fields: [], data: undefined };
}

/** Returns a success; REST has a message for it and may have no data. */
export function success(data: JsonValue | undefined, restMessage = ''): Answer {
  return { code: 'ok', message: restMessage, fields: [], data };
}

export function fieldOf(data: JsonValue | undefined, name: string): string {
  return String((data as JsonObject)[name]);
}

/** Returns the object without one of its fields. */
export function without(fields: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
}
