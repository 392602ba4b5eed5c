/** Interface, "Common response envelope": the shape of every REST response, errors included. */
import type { HttpContext } from '../http/http-context.ts';
import { sendJson } from '../http/response.ts';

export interface Envelope {
  readonly status: boolean;
  readonly message: string;
  readonly data?: unknown;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

export function sendEnvelope(
  context: HttpContext,
  status: number,
  envelope: Envelope,
  headers: Record<string, string> = {},
): void {
  sendJson(context, status, JSON.stringify(envelope), headers);
}

export function sendFailure(
  context: HttpContext,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  sendJson(context, status, renderFailure(message), headers);
}

/** Returns the JSON of an error without field violations. */
export function renderFailure(message: string): string {
  return JSON.stringify({ status: false, message } satisfies Envelope);
}
