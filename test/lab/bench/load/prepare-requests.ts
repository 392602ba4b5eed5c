import type { BenchCall, Example } from '../calls.ts';
import type { Protocol, WireReply, WireRequest } from '../protocols.ts';

export interface PreparedRequest {
  readonly wire: WireRequest;
  /** @throws Error that shows the response if it is not the expected one */
  check(reply: WireReply): void;
}

/** Encodes `count` requests before the measurement. Those that cannot be repeated are numbered from `firstNumber`. */
export function prepareRequests(
  protocol: Protocol,
  call: BenchCall,
  { count, firstNumber, headers }: { count: number; firstNumber: number; headers: Record<string, string> },
): PreparedRequest[] {
  const prepare = (number: number) => prepareRequest(protocol, call, call.exampleAt(number), headers);
  if (call.distinct === undefined) return Array.from({ length: count }, (_, index) => prepare(firstNumber + index));
  const repeated = Array.from({ length: Math.min(count, call.distinct) }, (_, index) => prepare(index));
  return Array.from({ length: count }, (_, index) => repeated[index % repeated.length] ?? prepare(index));
}

function prepareRequest(
  protocol: Protocol,
  { method }: BenchCall,
  { fields, accepts }: Example,
  headers: Record<string, string>,
): PreparedRequest {
  const wire = protocol.encode(method, fields);
  let accepted: WireReply | undefined;
  return {
    wire: { ...wire, headers: { ...wire.headers, ...headers } },
    check(reply) {
      // Decoding takes the client's CPU time: a response equal to a correct one is correct.
      if (accepted && isSame(reply, accepted)) return;
      const response = protocol.decode(method, reply);
      if (!accepts(response)) throw new Error(`unexpected response: ${JSON.stringify(response)}`);
      accepted = reply;
    },
  };
}

function isSame(one: WireReply, other: WireReply): boolean {
  return one.status === other.status && one.grpcStatus === other.grpcStatus && one.body.equals(other.body);
}
