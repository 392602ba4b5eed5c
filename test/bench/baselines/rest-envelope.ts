/** The documented envelope of REST. */
import { toAnswer } from './errors.ts';

export interface RestAnswer {
  readonly status: number;
  readonly envelope: { readonly status: boolean; readonly message: string; readonly data?: unknown };
}

export function succeed(message: string, data?: unknown): RestAnswer {
  return { status: 200, envelope: { status: true, message, data } };
}

export function fail(error: unknown): RestAnswer {
  const { status, message } = toAnswer(error);
  return { status, envelope: { status: false, message } };
}
