/**
 * A service that answers from its memory with a bound, in a process of its own, which a test may stop. It is told the
 * sessions of users as they begin, checks each of them all the time, and tells what it has answered.
 *
 * Parameters: the URL of Usher, the API key, the bound in milliseconds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { SessionChecks } from '../../../../src/client/session-checks.ts';
import { createUsherClient } from '../../../../src/client/usher-client.ts';

/** A session that has begun. */
export interface Begun {
  readonly userId: string;
  readonly sessionId: string;
}

/** Checks of a session that were made together. Instants are in milliseconds of the clock of the machine. */
export interface Checked extends Begun {
  readonly isActive: boolean;
  readonly calledAt: number;
  readonly returnedAt: number;
}

export interface Told {
  readonly checked: readonly Checked[];
  readonly unexpected: readonly string[];
  /** In total, with those of which only the last is told. */
  readonly checks: number;
  /** How many of them were answered from the memory. */
  readonly kept: number;
  /** How many calls of CheckSession they have cost. */
  readonly calls: number;
}

const TIMEOUT_MS = 2_000;
const PAUSE_MS = 5;
const TOLD_EVERY_MS = 100;
const TOGETHER = 5;
const MAX_SESSIONS = 8;

const [baseUrl = '', apiKey = '', bound] = process.argv.slice(2);
const boundMs = Number(bound);
const { sessions } = createUsherClient({ baseUrl, apiKey });
let [checks, kept, calls] = [0, 0, 0];
const checkSession: typeof sessions.checkSession = (...parameters) => {
  calls++;
  return sessions.checkSession(...parameters);
};
const service = new SessionChecks({
  client: { sessions: { ...sessions, checkSession } },
  boundMs,
  timeoutMs: TIMEOUT_MS,
});

const watched = new Map<string, Begun>();
/** By session. An answer later than another one is the one that may be too late. */
const active = new Map<string, Checked>();
let ended: Checked[] = [];
let unexpected: string[] = [];

async function keepChecking(begun: Begun): Promise<void> {
  const { sessionId } = begun;
  while (watched.has(sessionId)) {
    const isActive = await check(begun);
    if (isActive === false) {
      // Nothing may bring it back.
      await sleep(boundMs * 1.5);
      await check(begun);
      watched.delete(sessionId);
    }
    await sleep(PAUSE_MS);
  }
}

async function check(begun: Begun): Promise<boolean | undefined> {
  const calledAt = readClock();
  try {
    const before = calls;
    const answers = Array.from({ length: TOGETHER }, () => service.find(begun.sessionId));
    const isKept = calls === before;
    const [found] = await Promise.all(answers);
    checks += TOGETHER;
    if (isKept) kept += TOGETHER;
    const answer = { ...begun, isActive: found !== undefined, calledAt, returnedAt: readClock() };
    if (answer.isActive) active.set(begun.sessionId, answer);
    else ended.push(answer);
    return answer.isActive;
  } catch (error) {
    const { code, message } = ConnectError.from(error);
    if (code !== Code.Unavailable && code !== Code.DeadlineExceeded) unexpected.push(message);
    return undefined;
  }
}

/** The clock that all processes of the machine share, and that nobody sets. */
function readClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function tell(): void {
  const told: Told = { checked: [...active.values(), ...ended], unexpected, checks, kept, calls };
  process.send?.(told);
  active.clear();
  [ended, unexpected] = [[], []];
}

process.on('message', (message: Begun | 'stop') => {
  if (message === 'stop') {
    tell();
    process.disconnect();
    process.exit();
  }
  watched.set(message.sessionId, message);
  const [oldest] = watched.size > MAX_SESSIONS ? watched.keys() : [];
  if (oldest !== undefined) watched.delete(oldest);
  void keepChecking(message);
});
setInterval(tell, TOLD_EVERY_MS);
