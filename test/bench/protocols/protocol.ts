import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';

export type ProtocolName = 'REST' | 'Connect JSON' | 'Connect binary' | 'gRPC';

/** An HTTP request, ready to be sent. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface WireReply {
  readonly status: number;
  readonly body: Buffer;
  /** From the trailers. */
  readonly grpcStatus?: string | undefined;
}

/** How a call goes over the wire. */
export interface Protocol {
  readonly name: ProtocolName;
  readonly httpVersion: '1.1' | '2';
  encode(method: DescMethodUnary, fields: JsonObject): WireRequest;
  /** The response message as JSON. Throws where the reply is not a success, or is not well-formed. */
  decode(method: DescMethodUnary, reply: WireReply): JsonObject;
}

/** Throws an Error that shows the reply. */
export function requireReply(isFine: boolean, { status, grpcStatus, body }: WireReply): void {
  if (isFine) return;
  const grpc = grpcStatus === undefined ? '' : `, grpc-status ${grpcStatus}`;
  throw new Error(`status ${status}${grpc}: ${body.toString('latin1').slice(0, 200)}`);
}
