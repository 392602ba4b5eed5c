/** A server that speaks as much of the protocol of Postgres as a connection needs, and lies where a test says so. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSocketServer } from './mail-server.ts';

export function encodeMessage(type: string, body: string | Buffer = '', length?: number): Buffer {
  const bytes = Buffer.from(body);
  const head = Buffer.from([type.charCodeAt(0), 0, 0, 0, 0]);
  head.writeInt32BE(length ?? bytes.length + 4, 1);
  return Buffer.concat([head, bytes]);
}

const int16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const int32 = (value: number) => Buffer.concat([int16((value >>> 16) & 65_535), int16(value & 65_535)]);

export function describeColumns(names: Readonly<Record<string, number>>, count = Object.keys(names).length): Buffer {
  const columns = Object.entries(names).map(([name, type]) =>
    Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(type), int16(4), int32(-1), int16(0)]),
  );
  return encodeMessage('T', Buffer.concat([int16(count), ...columns]));
}

/** @param count the number of values that the row claims */
export function encodeRow(values: readonly string[], { count = values.length, length = 0 } = {}): Buffer {
  const parts = values.map((value) => Buffer.concat([int32(length || value.length), Buffer.from(value)]));
  return encodeMessage('D', Buffer.concat([int16(count), ...parts]));
}

export const encodeError = (severity: string, code: string) =>
  encodeMessage('E', `S${severity}\0V${severity}\0C${code}\0Mit is a test\0\0`);

const PID = 4711;
const INT4 = 23;
const BOOL = 16;

/** What it answers to `select 7 as seven`, by the number of rows. */
const QUESTIONS: readonly (readonly [text: RegExp, columns: Record<string, number>, row: string[]])[] = [
  [/pg_backend_pid/, { pid: INT4, isStandby: BOOL }, [String(PID), 'f']],
  [/seven/, { seven: INT4 }, ['7']],
];

export interface FakePostgresOptions {
  /** Whether the ID of its backend is made up, as that of a pooler. */
  readonly isPooler?: boolean;
  /** What is sent instead of a message, the first of which is 0. After a part of a message the connection ends. */
  readonly tell?: (message: Buffer, at: number) => Buffer;
  /** How many bytes arrive together. By default, all of an answer. */
  readonly partBytes?: number;
}

/** Only its first connection tells lies. All later ones are honest. */
export async function startFakePostgres({ tell, ...options }: FakePostgresOptions) {
  let connections = 0;
  const server = await startSocketServer((socket) => {
    connections++;
    serve(socket, { ...options, ...(connections === 1 && tell && { tell }) });
  });
  return Object.assign(server, { url: `postgres://usher@127.0.0.1:${server.port}/usher` });
}

function serve(
  socket: Socket,
  { isPooler = false, tell = (message) => message, partBytes = Number.POSITIVE_INFINITY }: FakePostgresOptions,
): void {
  let sent = 0;
  let unsent = Buffer.alloc(0);
  let isSending = false;
  const sendParts = async () => {
    isSending = true;
    for (; unsent.length > 0; await sleep(1)) {
      socket.write(unsent.subarray(0, partBytes));
      unsent = unsent.subarray(partBytes);
    }
    isSending = false;
  };
  let received = Buffer.alloc(0);
  let isStarted = false;
  const parsed = new Map<string, string>();
  const send = (...messages: Buffer[]) => {
    for (const message of messages) {
      if (socket.writableEnded) return;
      const bytes = tell(message, sent++);
      if (bytes.length < message.length) socket.end(bytes);
      else if (partBytes < Number.POSITIVE_INFINITY) unsent = Buffer.concat([unsent, bytes]);
      else socket.write(bytes);
    }
    if (!isSending) void sendParts();
  };
  let bound = '';
  const answer = (type: string, body: Buffer) => {
    const [first = '', second = ''] = body.toString('latin1').split('\0');
    const questionOf = (name: string) => QUESTIONS.find(([text]) => text.test(parsed.get(name) ?? ''));
    if (type === 'P') {
      parsed.set(first, second);
      send(encodeMessage('1'));
    } else if (type === 'D') {
      send(encodeMessage('t', int16(0)), describeColumns(questionOf(first.slice(1))?.[1] ?? {}));
    } else if (type === 'B') {
      bound = second;
      send(encodeMessage('2'));
    } else if (type === 'E') send(encodeRow(questionOf(bound)?.[2] ?? []), encodeMessage('C', 'SELECT 1\0'));
    else if (type === 'S') send(encodeMessage('Z', 'I'));
    else if (type === 'Q') {
      const commands = first.split(';').filter(Boolean);
      if (commands.length === 0) send(encodeMessage('I'));
      for (const command of commands) send(encodeMessage('C', `${command.trim().split(' ')[0]?.toUpperCase()}\0`));
      send(encodeMessage('Z', 'I'));
    }
  };
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
    for (;;) {
      const head = isStarted ? 1 : 0;
      if (received.length < head + 4) return;
      const end = head + received.readInt32BE(head);
      if (received.length < end) return;
      const message = received.subarray(0, end);
      received = received.subarray(end);
      if (isStarted) answer(message.toString('latin1', 0, 1), message.subarray(5));
      else {
        isStarted = true;
        send(
          encodeMessage('R', int32(0)),
          encodeMessage('S', 'client_encoding\0UTF8\0'),
          encodeMessage('K', Buffer.concat([int32(isPooler ? PID + 1 : PID), int32(1)])),
          encodeMessage('Z', 'I'),
        );
      }
    }
  });
}
