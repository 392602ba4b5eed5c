/**
 * What Usher itself speaks of the protocol of Postgres: https://www.postgresql.org/docs/current/protocol-message-formats.html
 *
 * | Sent | Where |
 * |---|---|
 * | Parse, Describe, Bind, Execute and Sync, all values as text | prepared statements: most of what a process sends |
 * | Query | commands without rows: `set`, `begin`, `commit`, `rollback` |
 * | Terminate | |
 *
 * postgres.js opens the connection and authenticates, over `library`. `takeOver` ends that. Migrations, the search for a
 * primary and the embedded Postgres use postgres.js alone. Nothing in Usher uses COPY, cursors, cancellation, LISTEN or
 * binary values, so nothing here speaks them.
 * A message that does not fit ends the connection, and everything that waits for it fails.
 *
 * It costs a statement of 2 kB with ten parameters 16 us of CPU, and postgres.js 34: that looks each text up by a key that
 * it builds anew, and copies each message three times. Measure again with
 * `npm run bench -- --server usher --server against --against ../without --protocol REST --only CheckIn`.
 */
import type { Socket } from 'node:net';
import { createPostgresError, type ResultColumns } from '../sql/driver.ts';
import { ConnectionFailedError } from '../sql/errors.ts';
import { type ParseValue, parserOf, toText } from '../sql/value-text.ts';
import { LibrarySocket } from './library-socket.ts';

/** The longest message, and the most that the rows of one statement may take. The longest of Usher take some megabytes. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** What a row takes in memory besides its values, roughly. */
const ROW_BYTES = 128;

/** As in Postgres. */
const MAX_COLUMNS = 1_664;

/** The type of a message and its length. */
const HEADER_BYTES = 5;

interface Column {
  readonly name: string;
  readonly parse: ParseValue | undefined;
}

/** What has come of a statement or a command. */
export interface Answer {
  /** The PostgresError that refused it, or ConnectionFailedError. Then there are no rows. */
  readonly error: Error | undefined;
  readonly rows: readonly unknown[][];
  readonly columns: ResultColumns;
  /** Of the last of some commands, such as `COMMIT`. */
  readonly tag: string;
}

interface Prepared {
  readonly name: string;
  readonly text: string;
  /** Unknown until Postgres has described it. */
  columns: readonly Column[] | undefined;
}

/** What Postgres may send next. */
const [PARSING, DESCRIBING, NAMING, BINDING, RUNNING, RUN, COMMANDING, COMMANDED, REFUSED, READY] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
] as const;

/** By stage, the types of messages that may come, and the stage after each. Any other message ends the connection. */
const STAGES: readonly (readonly [stage: number, types: string, next: number])[] = [
  [PARSING, '1', DESCRIBING],
  [DESCRIBING, 't', NAMING],
  [NAMING, 'Tn', BINDING],
  [BINDING, '2', RUNNING],
  [RUNNING, 'D', RUNNING],
  [RUNNING, 'CI', RUN],
  [RUN, 'Z', READY],
  [COMMANDING, 'CI', COMMANDED],
  [COMMANDED, 'CI', COMMANDED],
  [COMMANDED, 'Z', READY],
  [REFUSED, 'Z', READY],
];

/** The next stage, by stage and type. */
const NEXT = Uint8Array.from({ length: READY * 256 }, (_, at) => {
  const type = String.fromCharCode(at & 255);
  return STAGES.find(([stage, types]) => stage === at >> 8 && types.includes(type))?.[2] ?? 0;
});

/** Types of messages. */
const COLUMNS = 84; // T
const ERROR = 69; // E
const ROW = 68; // D
/** N, S and A: notices, parameters, and what LISTEN asks for. They may come at any time, and concern no statement. */
const ASIDE = [78, 83, 65];

class Exchange implements Answer {
  readonly prepared: Prepared | undefined;
  readonly onAnswer: (answer: Answer) => void;
  stage: number;
  error: Error | undefined;
  rows: unknown[][] = [];
  bytes = 0;
  tag = '';

  constructor(prepared: Prepared | undefined, stage: number, onAnswer: (answer: Answer) => void) {
    this.prepared = prepared;
    this.stage = stage;
    this.onAnswer = onAnswer;
  }

  get columns(): readonly Column[] {
    return this.prepared?.columns ?? [];
  }
}

export class Wire {
  /** With which postgres.js opens the connection. */
  readonly library: LibrarySocket;
  readonly #socket: Socket;
  readonly #statements = new Map<string, Prepared>();
  /** Oldest first, the order in which Postgres answers. */
  #exchanges: Exchange[] = [];
  #answered = 0;
  /** Unlike those of others, who had the same connection to Postgres behind a pooler before. */
  readonly #prefix = `u${Math.random().toString(36).slice(2)}_`;
  #names = 0;
  /** What this turn of the event loop sends, a character per byte. */
  #unsent = '';
  /** The beginning of a message, and how much of it is missing at least. */
  #parts: Buffer[] = [];
  #missing = 0;
  #isOpening = true;
  #failure: Error | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.library = new LibrarySocket(socket);
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => {
      this.#fail(new ConnectionFailedError('The connection was lost'));
      this.library.emit('close');
    });
  }

  /** Everything from now on is sent and read here. Call it when postgres.js waits for nothing. */
  takeOver(): this {
    this.#isOpening = false;
    this.library.release();
    return this;
  }

  /** Sends a prepared statement. `values` are those of `encodeValues`. */
  execute(text: string, values: string, onAnswer: (answer: Answer) => void): void {
    const known = this.#statements.get(text);
    if (known?.columns) {
      this.#send(new Exchange(known, BINDING, onAnswer), bindMessage(known.name, values) + EXECUTE_AND_SYNC);
      return;
    }
    // Until Postgres has described it, every execution has a Parse of its own, because a Parse may fail for a lock on the
    // table. Only the first has a name, so that no others stay in Postgres.
    const prepared = { name: known ? '' : `${this.#prefix}${this.#names++}`, text, columns: undefined };
    if (!known) this.#statements.set(text, prepared);
    const { name } = prepared;
    const parse = message('P', `${name}\0${toBytes(text)}\0\0\0`) + message('D', `S${name}\0`);
    this.#send(new Exchange(prepared, PARSING, onAnswer), parse + bindMessage(name, values) + EXECUTE_AND_SYNC);
  }

  /** Sends commands that return no rows. */
  command(text: string, onAnswer: (answer: Answer) => void): void {
    this.#send(new Exchange(undefined, COMMANDING, onAnswer), message('Q', `${toBytes(text)}\0`));
  }

  /** Closes the connection at once. All that is not answered fails. */
  close(): void {
    if (!this.#socket.destroyed) this.#socket.end(TERMINATE, 'latin1');
    this.#fail(new ConnectionFailedError('The connection was given up'));
  }

  #send(exchange: Exchange, bytes: string): void {
    if (this.#failure) {
      exchange.error = this.#failure;
      exchange.onAnswer(exchange);
      return;
    }
    this.#exchanges.push(exchange);
    // One write for all of a turn: postgres.js writes each kilobyte.
    if (this.#unsent === '') setImmediate(this.#flush);
    this.#unsent += bytes;
  }

  readonly #flush = () => {
    const bytes = this.#unsent;
    this.#unsent = '';
    if (!this.#socket.destroyed) this.#socket.write(bytes, 'latin1');
  };

  #receive(given: Buffer): void {
    if (this.#failure) return;
    this.#parts.push(given);
    this.#missing -= given.length;
    if (this.#missing > 0) return;
    const bytes = this.#parts.length === 1 ? given : Buffer.concat(this.#parts);
    let at = 0;
    let end = HEADER_BYTES;
    try {
      while (at + HEADER_BYTES <= bytes.length) {
        end = at + 1 + lengthAt(bytes, at + 1);
        if (end > bytes.length) break;
        this.#take(bytes, at, end);
        if (this.#failure) return;
        at = end;
        end = at + HEADER_BYTES;
      }
    } catch (cause) {
      this.#fail(new ConnectionFailedError('Postgres has broken its protocol', { cause }));
      return;
    }
    this.#parts = at === bytes.length ? [] : [bytes.subarray(at)];
    this.#missing = at === bytes.length ? 0 : end - bytes.length;
  }

  #take(bytes: Buffer, at: number, end: number): void {
    const type = bytes.readUInt8(at);
    const body = at + HEADER_BYTES;
    if (this.#isOpening) this.library.pass(bytes.subarray(at, end), HEADER_BYTES);
    if (this.#isOpening || ASIDE.includes(type)) return;
    const exchange = this.#exchanges[this.#answered];
    if (type === ERROR) {
      const error = createPostgresError(bytes.toString('utf8', body, end));
      if (exchange) {
        exchange.error ??= error;
        exchange.stage = REFUSED;
      }
      // After a fatal error Postgres closes the connection.
      if (!exchange || /^(FATAL|PANIC)$/.test(error.severity ?? error.severity_local))
        this.#fail(new ConnectionFailedError('The connection was lost', { cause: error }));
      return;
    }
    const next = exchange && NEXT[exchange.stage * 256 + type];
    if (!exchange || !next) throw new Error(`A message of type ${type} was not expected`);
    exchange.stage = next;
    if (type === ROW) {
      exchange.bytes += end - at + ROW_BYTES;
      if (exchange.bytes > MAX_ANSWER_BYTES) throw new Error('An answer is too long');
      exchange.rows.push(readRow(bytes, body, end, exchange.columns));
    } else if (next === READY) this.#settle(exchange);
    else if (!exchange.prepared) exchange.tag = bytes.toString('latin1', body, end - 1);
    else if (next === BINDING && exchange.prepared)
      exchange.prepared.columns = type === COLUMNS ? readColumns(bytes, body, end) : [];
  }

  #settle(exchange: Exchange): void {
    // Dropped now and then, because to shift an array costs more the longer it is.
    if (++this.#answered === this.#exchanges.length || this.#answered > 64) {
      this.#exchanges = this.#exchanges.slice(this.#answered);
      this.#answered = 0;
    }
    if (exchange.error) this.#forget(exchange);
    exchange.onAnswer(exchange);
  }

  /** After an error, unless Postgres knows the statement: the next execution must parse it again. */
  #forget({ prepared, error }: Exchange): void {
    if (!prepared || this.#statements.get(prepared.text) !== prepared) return;
    if (!prepared.columns || isOutdatedPlan(error)) this.#statements.delete(prepared.text);
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#socket.destroy();
    if (this.#isOpening) this.library.fail(error);
    const exchanges = this.#exchanges.slice(this.#answered);
    this.#exchanges = [];
    this.#answered = 0;
    this.#unsent = '';
    for (const exchange of exchanges) {
      exchange.error = error;
      exchange.onAnswer(exchange);
    }
  }
}

/** Where Postgres refuses a plan or name that it had prepared, because a table has changed or a pooler has forgotten it. */
const OUTDATED = ['FetchPreparedStatement', 'RevalidateCachedQuery', 'transformAssignedExpr'];

/** Returns whether the statement succeeds if it is parsed anew. It has had no effect. */
export function isOutdatedPlan(error: unknown): boolean {
  return error instanceof Error && 'routine' in error && OUTDATED.includes(String(error.routine));
}

const int16 = (value: number) => String.fromCharCode((value >> 8) & 255, value & 255);
const int32 = (value: number) => int16(value >>> 16) + int16(value);
const SHORT = Array.from({ length: 256 }, (_, length) => int32(length));
const withLength = (bytes: string) => (SHORT[bytes.length] ?? int32(bytes.length)) + bytes;
const message = (type: string, body: string) => type + int32(body.length + 4) + body;
const bindMessage = (name: string, values: string) => message('B', `\0${name}\0\0\0${values}\0\0`);
const EXECUTE_AND_SYNC = message('E', `\0${int32(0)}`) + message('S', '');
const TERMINATE = message('X', '');
const NULL = int32(-1);

/** Returns the text in UTF-8, a character per byte. */
const toBytes = (text: string) => (/^[ -~]*$/.test(text) ? text : Buffer.from(text).toString('latin1'));

/** Returns the parameters of a Bind. @throws Error for a value that is no parameter, such as undefined */
export function encodeValues(values: readonly unknown[]): string {
  let encoded = int16(values.length);
  for (const value of values) encoded += value === null ? NULL : withLength(toBytes(toText(value)));
  return encoded;
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = bytes.readInt32BE(at);
  if (length < 4 || length > MAX_ANSWER_BYTES) throw new Error(`A message has ${length} bytes`);
  return length;
}

function readColumns(bytes: Buffer, at: number, end: number): Column[] {
  const count = bytes.readUInt16BE(at);
  if (count > MAX_COLUMNS) throw new Error(`A row has ${count} columns`);
  const columns: Column[] = [];
  let next = at + 2;
  while (columns.length < count) {
    const nul = bytes.indexOf(0, next);
    if (nul === -1 || nul + 19 > end) throw new Error('A description of columns is cut off');
    columns.push({ name: bytes.toString('utf8', next, nul), parse: parserOf(bytes.readUInt32BE(nul + 7)) });
    next = nul + 19;
  }
  if (next !== end) throw new Error('A description of columns is too long');
  return columns;
}

function readRow(bytes: Buffer, at: number, end: number, columns: readonly Column[]): unknown[] {
  if (bytes.readUInt16BE(at) !== columns.length) throw new Error('A row has other columns than described');
  const row: unknown[] = [];
  let next = at + 2;
  for (const { parse } of columns) {
    const length = bytes.readInt32BE(next);
    next += 4;
    if (length === -1) row.push(null);
    else {
      if (length < 0 || next + length > end) throw new Error('A row is cut off');
      const text = bytes.toString('utf8', next, next + length);
      row.push(parse ? parse(text) : text);
      next += length;
    }
  }
  if (next !== end) throw new Error('A row is too long');
  return row;
}
