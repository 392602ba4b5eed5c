import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

/** What may come until the connection is open: authentication, parameters, the key, notices, errors, and an empty query. */
const TYPES = 'RSKNEIZ';

/** The requests for authentication that postgres.js knows: none any more, a password in two forms, and the three of SCRAM. */
const [DONE, CLEAR_TEXT, MD5, SCRAM, SCRAM_CONTINUE, SCRAM_FINAL] = [0, 3, 5, 10, 11, 12] as const;
const REQUESTS: readonly number[] = [DONE, CLEAR_TEXT, MD5, SCRAM, SCRAM_CONTINUE, SCRAM_FINAL];

/** It names the number of rounds, for which postgres.js blocks the process: a million take half a second. */
const SCRAM_CHALLENGE = /^r=[^,]+,s=[\w+/=]+,i=[1-9]\d{0,5}(,|$)/;

/**
 * What postgres.js takes for its socket while it opens a connection. It gets whole messages, and none on which it would
 * wait or calculate without end, or fail where nobody catches it.
 */
export class LibrarySocket extends EventEmitter {
  readonly readyState = 'open';
  #isReleased = false;
  /** The ID of the backend, as the server or a pooler tells it. */
  pid: number | undefined;
  readonly #socket: Socket;
  readonly #asked = new Set<number>();

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
  }

  write(bytes: Buffer): boolean {
    return this.#isReleased || this.#socket.destroyed || this.#socket.write(bytes);
  }

  end(bytes: Buffer): void {
    this.#socket.end(bytes);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Passes a message of the server on. `body` is where it goes on after type and length. @throws Error if it is not understood */
  pass(message: Buffer, body: number): void {
    const type = message.toString('latin1', 0, 1);
    if (!TYPES.includes(type)) throw new Error(`A message of type ${type} was not expected`);
    if (type === 'K') this.pid = message.readUInt32BE(body);
    if (type === 'Z' && !this.#asked.has(DONE)) throw new Error('The server is ready before it has authenticated');
    if (type === 'R') this.#check(message.readInt32BE(body), message.toString('latin1', body + 4));
    this.emit('data', message);
  }

  /** From now on postgres.js neither hears nor sends. */
  release(): void {
    this.#isReleased = true;
    this.removeAllListeners();
  }

  fail(error: Error): void {
    // postgres.js listens only once it has the socket.
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }

  #check(request: number, text: string): void {
    const isSound = request !== SCRAM_CONTINUE || SCRAM_CHALLENGE.test(text);
    // With its last message the server proves that it knows the password. postgres.js verifies it, but does not miss it.
    const isProven = request !== DONE || !this.#asked.has(SCRAM) || this.#asked.has(SCRAM_FINAL);
    if (!REQUESTS.includes(request) || this.#asked.has(request) || !isSound || !isProven)
      throw new Error(`The request ${request} for authentication is not understood`);
    this.#asked.add(request);
  }
}
