/** Requests over HTTP/2 whose empty body ends with a frame of its own. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { decodeFrames, encodeFrame, encodeHeaders, encodePreface, FLAG, FRAME } from '../../support/http2-frames.ts';
import { createTenant, startTestService } from '../../support/service.ts';

/** More than begin at once on one connection: the others wait for their turn when their end comes. */
const REQUESTS = 40;

const service = await startTestService();
const { apiKey } = await createTenant(service);

afterAll(service.close);

const RPC = { ':method': 'POST', ':path': '/usher.v1.EventService/CreateEvent' };

test.each<[string, Record<string, string>]>([
  ['Connect', { ...RPC, 'content-type': 'application/proto' }],
  ['Connect in gzip', { ...RPC, 'content-type': 'application/proto', 'content-encoding': 'gzip' }],
  ['gRPC', { ...RPC, 'content-type': 'application/grpc' }],
  ['gRPC in gzip', { ...RPC, 'content-type': 'application/grpc', 'grpc-encoding': 'gzip' }],
  ['gRPC-Web', { ...RPC, 'content-type': 'application/grpc-web+proto' }],
  ['REST', { ':method': 'POST', ':path': '/api/events' }],
  ['REST after 100-continue', { ':method': 'POST', ':path': '/api/events', expect: '100-continue' }],
])('are answered over %s before their deadline', async (_, headers) => {
  const requests = Array.from({ length: REQUESTS }, (_, at) => {
    const stream = 2 * at + 1;
    const head = encodeHeaders(stream, { ...headers, 'x-api-key': apiKey }, { endStream: false });
    return Buffer.concat([head, encodeFrame(FRAME.data, FLAG.endStream, stream)]);
  });
  const socket = connect({ port: service.port, host: '127.0.0.1' });
  onTestFinished(() => void socket.destroy());
  const ended = new Set<number>();
  socket.write(Buffer.concat([encodePreface(), ...requests]));
  for (let received = Buffer.alloc(0); ended.size < REQUESTS; ) {
    const [chunk] = await once(socket, 'data');
    received = Buffer.concat([received, chunk]);
    for (const { flags, stream } of decodeFrames(received)) if (stream > 0 && flags & FLAG.endStream) ended.add(stream);
  }
  expect(ended.size).toBe(REQUESTS);
});
