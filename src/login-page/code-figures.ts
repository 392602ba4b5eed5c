/** The numbers in the query of a page about a code. The forms of the page for the code send them back. */
import { LOGIN_CODE_MINUTES } from '../domain/login/login-code.ts';

export interface CodeFigures {
  /** 6 or 8. */
  readonly digits: number;
  /** The attempts that are left after a wrong code, or 0 before one. */
  readonly left: number;
  /** The seconds until the code may be sent again, or 0. */
  readonly wait: number;
  /** The minutes after which another code may be requested, if too many were. */
  readonly minutes?: number;
}

/** No code lives longer. */
const MAX_WAIT_SECONDS = LOGIN_CODE_MINUTES * 60;
const MAX_MINUTES = 60;

/** Reads and limits the numbers: anybody can write the query. */
export function readCodeFigures(field: (name: string) => string): CodeFigures {
  const numberOf = (name: string, max: number) => Math.min(max, Number(/^\d{1,4}$/.exec(field(name))?.[0] ?? 0));
  const digits = numberOf('digits', 8);
  return {
    digits: digits === 8 ? 8 : 6,
    left: numberOf('left', 4),
    wait: numberOf('wait', MAX_WAIT_SECONDS),
    minutes: numberOf('minutes', MAX_MINUTES) || 1,
  };
}
