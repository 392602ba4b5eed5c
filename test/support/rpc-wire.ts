import type { HttpVersion } from './http.ts';
import { type HttpClient, openHttpClient } from './http.ts';
import { type Protocol, type RawReply, RPC_PROTOCOLS } from './protocols.ts';
import { toPascalCase } from './wire.ts';

export { frame, type Outcome } from './protocols.ts';
export type WireProtocol = Protocol;
export type WireReply = RawReply;
export type WireClient = HttpClient;
export const PROTOCOLS: readonly Protocol[] = RPC_PROTOCOLS.map((protocol) => ({
  ...protocol,
  read(reply) {
    const { code, ...rest } = protocol.read(reply);
    return { code: toPascalCase(code), ...rest };
  },
}));

export function openWireClient(url: string, { httpVersion }: { readonly httpVersion: HttpVersion }): HttpClient {
  const client = openHttpClient(url, { httpVersion });
  return { ...client, send: (request) => client.send({ method: 'POST', ...request }) };
}
