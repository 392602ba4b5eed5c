/** Makes calls at replicas, and keeps when each was called, when it returned, and with what. */
import { randomUUID } from 'node:crypto';
import type { Answer, Input, Operation, Outcome } from '../checker/operation.ts';
import { answerOf, isRead } from '../checker/operation.ts';
import type { Client, Reply } from './client.ts';

export interface RecordedCall {
  readonly rpc: string;
  /** What only the answer tells: the ID of what it has created. */
  readonly subject: string | ((answer: Answer) => string);
  /** What the checker needs of the request. */
  readonly input?: Input;
  /** The whole request, where that is more. */
  readonly request?: object;
  /** Instead of the key of the application. */
  readonly apiKey?: string;
}

export class Recorder {
  /** What the request IDs of its calls begin with. */
  readonly prefix = `history-${randomUUID()}-`;
  readonly operations: Operation[] = [];
  /** Answers that no caller should see, such as an internal error. */
  readonly unexpected: string[] = [];
  readonly #client: Client;
  #calls = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Returns the answer of a replica, or undefined if the call was refused or has an unknown outcome. */
  call(replica: number, { request, apiKey, ...call }: RecordedCall): Promise<Answer | undefined> {
    return this.record(replica, call, (requestId) =>
      this.#client.call(replica, call.rpc, request ?? call.input ?? {}, { requestId, apiKey }),
    );
  }

  /** The same for a request that is no RPC. Its `x-request-id` must be the given one. */
  async record(
    replica: number,
    { rpc, subject, input = {} }: Pick<RecordedCall, 'rpc' | 'subject' | 'input'>,
    send: (requestId: string) => Promise<Reply>,
  ): Promise<Answer | undefined> {
    const id = `${this.prefix}${++this.#calls}`;
    const calledAt = performance.now();
    const reply = await send(id);
    // Nobody listened, so nothing can have happened.
    if (reply === 'unsent') return undefined;
    const outcome = readOutcome(reply);
    if (reply !== 'lost' && 'code' in reply && outcome === 'unknown' && !EXPECTED.has(reply.code)) {
      this.unexpected.push(`${rpc} at ${replica}: ${reply.code} ${reply.message} (${id})`);
    }
    const answer = answerOf({ outcome });
    const name = typeof subject === 'string' ? subject : answer ? subject(answer) : 'unnamed';
    this.#keep({ id, rpc, subject: name, replica, input, calledAt }, outcome);
    return answer;
  }

  /** Keeps a step that is no call. */
  async step(rpc: string, subject: string, run: () => Promise<unknown>): Promise<void> {
    const calledAt = performance.now();
    const outcome = await run().then(
      (): Outcome => ({ answer: {} }),
      (): Outcome => 'unknown',
    );
    this.#keep({ id: randomUUID(), rpc, subject, replica: -1, input: {}, calledAt }, outcome);
  }

  /** Keeps what somebody else has observed. */
  observe(operation: Omit<Operation, 'id'>): void {
    this.operations.push({ ...operation, id: `${this.prefix}${++this.#calls}` });
  }

  #keep(call: Omit<Operation, 'returnedAt' | 'outcome'>, outcome: Outcome): void {
    // One without an answer may take effect at any time from its call on.
    const returnedAt = outcome === 'unknown' && !isRead(call) ? Number.POSITIVE_INFINITY : performance.now();
    this.operations.push({ ...call, returnedAt, outcome });
  }
}

/** What Usher says when it cannot answer. */
const EXPECTED: ReadonlySet<string> = new Set(['unavailable', 'deadline_exceeded', 'temporarily_unavailable']);

/** The codes of refusals that are the same however often the call is made. */
const REFUSALS: ReadonlySet<string> = new Set([
  ...['unauthenticated', 'not_found', 'already_exists', 'failed_precondition', 'invalid_argument', 'invalid_grant'],
]);

function readOutcome(reply: Exclude<Reply, 'unsent'>): Outcome {
  if (reply === 'lost') return 'unknown';
  if ('answer' in reply) return { answer: reply.answer };
  return REFUSALS.has(reply.code) ? { refusal: reply.message } : 'unknown';
}
