/** Requests made before the clock runs, each with the check of its reply. */
import type { BenchCall, WorkerInit } from '../calls.ts';
import type { Protocol, WireReply, WireRequest } from '../protocols/protocol.ts';

export interface PreparedRequest {
  readonly wire: WireRequest;
  /** Throws an Error that shows the reply where it is not the expected one. */
  check(reply: WireReply): void;
}

/** `count` requests of the call. Orders that may be placed only once are numbered from `firstNumber`. */
export function prepareRequests(
  protocol: Protocol,
  call: BenchCall,
  { count, firstNumber, headers }: { count: number; firstNumber: number; headers: Record<string, string> },
): PreparedRequest[] {
  const prepare = (number: number) => prepareRequest(protocol, call, call.orderAt(number), headers);
  if (call.variety === undefined) return Array.from({ length: count }, (_, index) => prepare(firstNumber + index));
  const repeated = Array.from({ length: Math.min(count, call.variety) }, (_, index) => prepare(index));
  return Array.from({ length: count }, (_, index) => repeated[index % repeated.length] ?? prepare(index));
}

function prepareRequest(
  protocol: Protocol,
  { method }: BenchCall,
  { fields, accepts }: WorkerInit,
  headers: Record<string, string>,
): PreparedRequest {
  const wire = protocol.encode(method, fields);
  let accepted: WireReply | undefined;
  return {
    wire: { ...wire, headers: { ...wire.headers, ...headers } },
    check(reply) {
      // What has been found right once need not be decoded again.
      if (accepted && isSame(reply, accepted)) return;
      const answer = protocol.decode(method, reply);
      if (!accepts(answer)) throw new Error(`unexpected answer: ${JSON.stringify(answer)}`);
      accepted = reply;
    },
  };
}

function isSame(one: WireReply, other: WireReply): boolean {
  return one.status === other.status && one.grpcStatus === other.grpcStatus && one.body.equals(other.body);
}
