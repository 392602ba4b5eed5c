/** Requests over HTTP/2 that are answered before they end. */
import { once } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { decodeFrames, encodeFrame, encodeHeaders, encodePreface, FLAG, FRAME } from '../../support/http2-frames.ts';
import { openHttp2Session, readReply } from '../../support/http2-session.ts';
import { startTestService } from '../../support/service.ts';

const service = await startTestService();

afterAll(service.close);

// Without an API key, both are refused before their body is read.
const REST = { ':method': 'POST', ':path': '/api/events' };
const UNKNOWN = { ...REST, ':path': '/usher.v1.Nothing/Nothing', 'content-type': 'application/grpc-web+proto' };
const GRPC = { ...REST, ':path': '/usher.v1.EventService/CreateEvent', 'content-type': 'application/grpc' };

// While a reset waits to be sent, nghttp2 ignores the end of a request and counts the stream as open. Its client does
// not, and with the next stream it might exceed the limit, which ends the connection.
test.each([
  ['REST', REST],
  ['gRPC', GRPC],
])('are not reset over %s when their end follows', async (_, headers) => {
  const socket = connect({ port: service.port, host: '127.0.0.1', noDelay: true });
  onTestFinished(() => void socket.destroy());
  let received = Buffer.alloc(0);
  const receivedUntil = async (type: number, flag: number) => {
    const isThere = () => [...decodeFrames(received)].some((frame) => frame.type === type && frame.flags & flag);
    while (!isThere()) received = Buffer.concat([received, (await once(socket, 'data'))[0]]);
  };
  socket.write(Buffer.concat([encodePreface(), encodeHeaders(1, headers, { endStream: false })]));
  await Promise.race([receivedUntil(FRAME.data, FLAG.endStream), receivedUntil(FRAME.headers, FLAG.endStream)]);
  socket.write(encodeFrame(FRAME.data, FLAG.endStream, 1));
  socket.write(encodeFrame(FRAME.ping, 0, 0, Buffer.alloc(8)));
  await receivedUntil(FRAME.ping, FLAG.acknowledged);
  expect([...decodeFrames(received)].filter(({ type }) => type === FRAME.reset)).toEqual([]);
});

test.each([
  ['REST', REST, { status: 401 }],
  ['gRPC', GRPC, { trailers: { 'grpc-status': '16' } }],
  // In the head, without trailers.
  ['gRPC-Web', UNKNOWN, { headers: { 'grpc-status': '12' } }],
])('are reset over %s when nothing or too much follows, and keep their reply', async (_, headers, refusal) => {
  using session = openHttp2Session(service.url);
  const silent = session.open(headers);
  const endless = session.open(headers);
  const write = () => {
    while (!endless.destroyed && endless.write(Buffer.alloc(16_384)));
  };
  endless.on('drain', write);
  write();
  const expectRefusal = async (stream: ClientHttp2Stream) => {
    const closed = once(stream, 'close');
    expect(await readReply(stream)).toMatchObject(refusal);
    await closed;
    // Not by the time that a request may take.
    expect(stream.rstCode).toBe(0);
  };
  await Promise.all([expectRefusal(silent), expectRefusal(endless)]);
});
