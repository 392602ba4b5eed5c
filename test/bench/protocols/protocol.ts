import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';

export type ProtocolName = 'REST' | 'Connect JSON' | 'Connect binary' | 'gRPC';

/** An HTTP request, ready to send. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface WireReply {
  readonly status: number;
  readonly body: Buffer;
  /** From the trailers, or from the headers of a response without a body. */
  readonly grpcStatus?: string | undefined;
}

/** How a call is encoded in HTTP. */
export interface Protocol {
  readonly name: ProtocolName;
  readonly httpVersion: '1.1' | '2';
  encode(method: DescMethodUnary, fields: JsonObject): WireRequest;
  /** Returns the response message as JSON. @throws Error if the response is no success or malformed */
  decode(method: DescMethodUnary, reply: WireReply): JsonObject;
}

/** @throws Error that shows the response */
export function requireReply(isFine: boolean, { status, grpcStatus, body }: WireReply): void {
  if (isFine) return;
  const grpc = grpcStatus === undefined ? '' : `, grpc-status ${grpcStatus}`;
  throw new Error(`status ${status}${grpc}: ${body.toString('latin1').slice(0, 200)}`);
}
