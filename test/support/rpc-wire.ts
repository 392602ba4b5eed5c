import type { HttpVersion } from './http.ts';
import { type HttpClient, openHttpClient } from './http.ts';
import { type Protocol, type RawReply, RPC_PROTOCOLS } from './protocols.ts';

export { frame, type Outcome } from './protocols.ts';
export type WireProtocol = Protocol;
export type WireReply = RawReply;
export type WireClient = HttpClient;
export const PROTOCOLS = RPC_PROTOCOLS;

export function openWireClient(url: string, { httpVersion }: { readonly httpVersion: HttpVersion }): HttpClient {
  const client = openHttpClient(url, { httpVersion });
  return { ...client, send: (request) => client.send({ method: 'POST', ...request }) };
}
