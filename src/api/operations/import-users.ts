/** `POST /admin/users.jsonl`: imports users, a line each, and answers a line for each as soon as it is stored. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { Database } from '../../database/pool/database.ts';
import type { Call } from '../../domain/core/call.ts';
import { invalidField, ServiceError } from '../../domain/core/errors.ts';
import { check, oneOf, orDefault } from '../../domain/core/validation.ts';
import type { RowCipher } from '../../domain/crypto/aes-gcm.ts';
import type { ProviderNames } from '../../domain/identities/provider-names.ts';
import { onConflictRule } from '../../domain/imports/batch-create-users.ts';
import { importInOrder, readOrFail } from '../../domain/imports/import-in-order.ts';
import type { ImportOptions } from '../../domain/imports/import-lines.ts';
import { checkUser, findUnknownField, type UserLine } from '../../domain/imports/user-line.ts';
import type { AdminKeys } from '../../domain/operators/admin-keys.ts';
import { JoinedBytes } from '../../encoding/joined-bytes.ts';
import { isObject } from '../../encoding/json.ts';
import type { HttpContext, NodeResponse } from '../../http/http-context.ts';
import type { HttpRoute } from '../../http/route-table.ts';
import { Progress } from '../../progress.ts';
import { type CallLog, callRoute, createAuditedCall } from '../calls.ts';
import { requireRight } from '../credentials.ts';
import { requireUniqueNames } from '../rest/read-fields.ts';
import { USERS_PATH } from './export-users.ts';
import { JSON_LINES } from './exporter.ts';

/** An import ends if its client sends nothing, or takes no answer, within this time. */
const STALL_MS = 60_000;

const flag = orDefault(oneOf(['true', 'false'] as const), 'false');
const rules = { dryRun: flag, notify: flag, onConflict: onConflictRule };

interface ImportParts extends CallLog, Pick<Call, 'notices' | 'onMessage'> {
  readonly adminKeys: AdminKeys;
  readonly cipher: RowCipher;
  readonly clock: () => Date;
  readonly closing: AbortSignal;
  readonly database: Database;
  readonly onSignedOut: (userId: string) => void;
  readonly passkeyHost: string;
  readonly providers: ProviderNames;
}

/** Serves the import. One runs at a time: another gets `Service unavailable`. */
export function createUserImport(parts: ImportParts): HttpRoute {
  let isRunning = false;
  return callRoute(parts, 'POST', USERS_PATH, async (call, context) => {
    const actor = requireRight(parts, context, []);
    call.outcome = { code: 'ok', isAuthenticated: true };
    const options = readOptions(context.query);
    if (isRunning) throw new ServiceError('SERVICE_UNAVAILABLE');
    isRunning = true;
    context.allowLongBody();
    try {
      const { cipher, onSignedOut, passkeyHost: rpId, providers } = parts;
      await importBody(parts, context, actor, { ...options, cipher, issuers: providers.issuers, onSignedOut, rpId });
    } finally {
      isRunning = false;
    }
  });
}

async function importBody(
  parts: ImportParts,
  context: HttpContext,
  actor: string,
  options: ImportOptions,
): Promise<void> {
  const { request, response } = context;
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(), STALL_MS);
  const createCall = () => {
    // The server works: the client need not send anything.
    timer.refresh();
    const creator = { actorType: 'admin_key', actor, action: 'AdminService/CreateUser' } as const;
    return createAuditedCall(parts, context, creator, { deadline: performance.now() + parts.requestTimeoutMs });
  };
  const counts: Counts = { lines: 0, failed: 0 };
  const beganAt = performance.now();
  const describe = () => describeProgress(counts, performance.now() - beganAt);
  using progress = new Progress(() => parts.logger.info({ ...counts }, 'import is running'));
  const signal = AbortSignal.any([parts.closing, stalled.signal]);
  const onAbort = () => request.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const answers of runImport(readLines(request), createCall, options, counts)) {
      timer.refresh();
      progress.report(describe());
      if (!response.headersSent) writeHead(context);
      if (!write(response, answers)) await once(response, 'drain', { signal });
    }
  } catch (error) {
    if (signal.aborted || context.request.errored)
      throw new ServiceError(parts.closing.aborted ? 'SERVICE_UNAVAILABLE' : 'CANCELED');
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    progress.end();
    parts.logger.info({ ...counts, seconds: Math.round((performance.now() - beganAt) / 1_000) }, 'import ended');
  }
  if (!response.headersSent) writeHead(context);
  response.end();
}

/** The responses of HTTP/1.1 and HTTP/2 have the method under different types. */
function write(response: NodeResponse, text: string): boolean {
  return (response as Writable).write(text);
}

function writeHead({ commonHeaders, response }: HttpContext): void {
  const headers = { ...commonHeaders, 'content-type': JSON_LINES, 'cache-control': 'no-store' };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/** Such as `importing users: 12300 lines, 450 a second, 3 failed`. */
function describeProgress({ lines, failed }: Counts, ms: number): string {
  return `importing users: ${lines} lines, ${Math.round((lines * 1_000) / Math.max(ms, 1))} a second, ${failed} failed`;
}

function readOptions(query: string) {
  const parameters = [...new URLSearchParams(query)];
  for (const [name] of parameters)
    if (!Object.hasOwn(rules, name)) throw invalidField(name.slice(0, 64), 'is not a field of this request');
  const { dryRun, notify, onConflict } = check(Object.fromEntries(parameters), rules);
  return { dryRun: dryRun === 'true', notifies: notify === 'true', onConflict };
}

/** Imports a stream of lines, and yields an answer for each, in order. */
interface Counts {
  lines: number;
  failed: number;
}

/** @param createCall returns a call with the present time and a deadline of its own, for each batch and each change */
async function* runImport(
  lines: AsyncIterable<Line>,
  createCall: () => Call,
  options: ImportOptions,
  counts: Counts,
): AsyncGenerator<string> {
  const numbers: number[] = [];
  async function* readUsers() {
    for await (const { number, text } of lines) {
      numbers.push(number);
      yield readOrFail(() => readUserLine(text));
    }
  }
  for await (const results of importInOrder(readUsers(), createCall, options)) {
    counts.lines += results.length;
    counts.failed += results.filter(({ status }) => status === 'failed').length;
    yield results.map((result) => `${JSON.stringify({ line: numbers.shift(), ...result })}\n`).join('');
  }
}

/** @throws ServiceError `Validation failed`, with the fields that are missing, wrong or unknown */
function readUserLine(text: string | undefined): UserLine {
  if (text === undefined) throw invalidField('', 'must have at most 16 KiB of UTF-8');
  const value = parse(text);
  requireUniqueNames(text);
  if (!isObject(value)) throw invalidField('', 'must be a JSON object');
  const unknown = findUnknownField(value);
  if (unknown !== undefined) throw invalidField(unknown.slice(0, 64).toWellFormed(), 'is unknown');
  return checkUser(value);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw invalidField('', 'must be JSON');
  }
}

/** Splits a body into lines with bounded memory. */
const MAX_LINE_BYTES = 16 * 1_024;

/** A line without its end. Undefined text: it is longer than `MAX_LINE_BYTES`, or no UTF-8. */
interface Line {
  readonly number: number;
  readonly text: string | undefined;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });
const NEWLINE = 0x0a;

/** Yields the lines of each chunk, in which empty ones are left out but counted. */
async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let isTooLong = false;
  const joined = new JoinedBytes();
  const add = (part: Buffer) => {
    // What is too long already need not be kept.
    isTooLong ||= joined.length + part.length > MAX_LINE_BYTES;
    if (!isTooLong) joined.add(part);
  };
  const take = (): Line | undefined => {
    number++;
    const bytes = joined.take();
    const text = isTooLong ? undefined : decode(bytes);
    isTooLong = false;
    return text?.trim() === '' ? undefined : { number, text };
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at));
      from = at + 1;
      const line = take();
      if (line) yield line;
    }
    add(chunk.subarray(from));
  }
  if (joined.length > 0 || isTooLong) {
    const line = take();
    if (line) yield line;
  }
}

function decode(bytes: Buffer): string | undefined {
  try {
    return UTF_8.decode(bytes);
  } catch {
    return undefined;
  }
}
