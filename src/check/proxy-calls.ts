/** Calls that a proxy may break: one of gRPC, and a stream. */
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { type CheckFinding, pass, warn } from '../modules/check.ts';

const TIMEOUT_MS = 5_000;

export async function checkGrpc(baseUrl: string): Promise<CheckFinding> {
  const client = createClient(Health, createGrpcTransport({ baseUrl }));
  try {
    await client.check({ service: '' }, { timeoutMs: TIMEOUT_MS });
    return pass('calls work, over HTTP/2');
  } catch (error) {
    const { rawMessage = String(error) } = Object(error);
    return warn(
      `calls do not work: ${rawMessage}`,
      'The proxy must speak HTTP/2 to callers and to Usher, and pass trailers on (nginx: grpc_pass). REST and Connect do without',
    );
  }
}

/** The first message of a stream that stays open must arrive at once. */
export async function checkStream(baseUrl: string): Promise<CheckFinding> {
  const client = createClient(Health, createConnectTransport({ baseUrl, httpVersion: '1.1' }));
  const leaving = new AbortController();
  const timer = setTimeout(() => leaving.abort(), TIMEOUT_MS);
  try {
    for await (const _ of client.watch({ service: '' }, { signal: leaving.signal }))
      return pass('messages arrive at once');
    return warn('a stream ends without a message', BUFFERED);
  } catch (error) {
    const { rawMessage = String(error) } = Object(error);
    const what = leaving.signal.aborted
      ? `no message has arrived in ${TIMEOUT_MS / 1_000} s: the proxy keeps it back`
      : `a stream does not work: ${rawMessage}`;
    return warn(what, BUFFERED);
  } finally {
    clearTimeout(timer);
    leaving.abort();
  }
}

const BUFFERED = 'Readers of messages wait in vain. Turn buffering of answers off (nginx: proxy_buffering off)';
