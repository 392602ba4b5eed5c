/** The envelope: the JSON shape of every REST response, errors included. */
import type { ErrorReason } from '../domain/core/errors.ts';
import { HTTP_ERRORS, type HttpErrorReason } from '../http/errors.ts';
import { sendJson } from '../http/exchange.ts';
import type { HttpContext } from '../http/http-context.ts';

export interface Envelope {
  readonly status: boolean;
  readonly message: string;
  /** Only in errors. */
  readonly reason?: ErrorReason | HttpErrorReason;
  readonly data?: unknown;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

export function sendFailure(context: HttpContext, reason: HttpErrorReason, headers: Record<string, string> = {}): void {
  sendJson(context, HTTP_ERRORS[reason][0], renderFailure(reason), headers);
}

/** Refuses a method with which nothing is read, and returns whether it has. */
export function refuseUnlessRead(context: HttpContext): boolean {
  const { method } = context.request;
  if (method === 'GET' || method === 'HEAD') return false;
  sendFailure(context, 'METHOD_NOT_ALLOWED', { allow: 'GET, HEAD' });
  return true;
}

export function renderFailure(reason: HttpErrorReason): string {
  return JSON.stringify({ status: false, message: HTTP_ERRORS[reason][1], reason } satisfies Envelope);
}
