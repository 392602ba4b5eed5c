import type { DescMethodUnary } from '@bufbuild/protobuf';
import type { HttpReply } from './http.ts';
import { type Call, PROTOCOLS, type Protocol, type RawReply, send, supports } from './protocols.ts';

export { comparable, toRequest, withInvalidUtf8 } from './protocols.ts';

export type Wire = Protocol & { readonly protocol: Protocol['kind'] };
export type WireCall = Call;
export type WireReply = HttpReply;

export const WIRES: readonly Wire[] = PROTOCOLS.map((each) => ({ ...each, protocol: each.kind }));
export const RPC_WIRES = WIRES.filter(({ protocol }) => protocol !== 'rest');
export const CONNECT_JSON_WIRES = RPC_WIRES.filter(({ isJson }) => isJson);

export function carries(wire: Wire, method: DescMethodUnary): boolean {
  return supports(wire, method);
}

export function sendOver(wire: Wire, url: string, call: Call): Promise<HttpReply> {
  return send(wire, url, call);
}

export function failureOf(wire: Wire, reply: RawReply) {
  const { code, message, fields } = wire.read(reply);
  if (code === 'ok') throw new Error(`No error, but a reply with status ${reply.status}`);
  return { status: reply.status, code: toPascalCase(code), message, fields };
}

export function toPascalCase(code: string): string {
  return code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
