/** Bodies that come byte by byte are read like any other, over every protocol. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { JoinedBytes } from '../../../src/encoding/joined-bytes.ts';
import { sendJson } from '../../../src/http/exchange.ts';
import { request } from '../../support/http.ts';
import { encodeFrame, encodeHeaders, encodePreface, FLAG, FRAME } from '../../support/http2-frames.ts';
import { openHttp2Session, readReply } from '../../support/http2-session.ts';
import { frame, PROTOCOLS, type Protocol, toRequest } from '../../support/protocols.ts';
import { createTenant, startTestService } from '../../support/service.ts';
import { serveListener } from './serve-listener.ts';

const service = await startTestService();
const { apiKey } = await createTenant(service);
afterAll(service.close);

const PACES = ['at once', 'one after the other'] as const;

const asProtocol = (protocol: Protocol) => (eventId: string) =>
  toRequest(protocol, { method: EventService.method.createEvent, fields: { eventId } });

const inGzip = (protocol: Protocol) => (eventId: string) => {
  const { body, headers, ...sent } = asProtocol(protocol)(eventId);
  const bytes = protocol.isFramed ? frame(gzipSync(body.slice(5)), { flags: 1 }) : gzipSync(body);
  return { ...sent, headers: { ...headers, [protocol.encodingHeader]: 'gzip' }, body: bytes };
};

const inBase64 = (protocol: Protocol) => (eventId: string) => {
  const { body, headers, ...sent } = asProtocol(protocol)(eventId);
  const contentType = 'application/grpc-web-text+proto';
  return { ...sent, headers: { ...headers, 'content-type': contentType }, body: Buffer.from(body).toString('base64') };
};

const requests = PROTOCOLS.flatMap((protocol) => {
  const { name, kind, httpVersion } = protocol;
  return [
    [name, httpVersion, asProtocol(protocol)] as const,
    ...(kind === 'rest' ? [] : [[`${name} in gzip`, httpVersion, inGzip(protocol)] as const]),
    ...(kind === 'grpc-web' ? [[`${name} in base64`, httpVersion, inBase64(protocol)] as const] : []),
  ];
});

test.each(
  requests.flatMap(([name, httpVersion, toSent]) => PACES.map((pace) => [name, pace, httpVersion, toSent] as const)),
)('%s, %s', async (_, pace, httpVersion, toSent) => {
  const eventId = randomUUID();
  const { method, path, headers, body } = toSent(eventId);
  const all = { ...headers, 'x-api-key': apiKey };
  const bytes = [...Buffer.from(body)];
  const isHttp2 = httpVersion === '2';
  const socket = connect({ port: service.port, host: '127.0.0.1', noDelay: true }).resume();
  onTestFinished(() => void socket.destroy());
  const encode = (byte: number) =>
    isHttp2
      ? encodeFrame(FRAME.data, 0, 1, Buffer.of(byte))
      : Buffer.concat([Buffer.from('1\r\n'), Buffer.of(byte), Buffer.from('\r\n')]);
  const lines = Object.entries({ host: 'a', ...all, 'transfer-encoding': 'chunked' });
  const head = isHttp2
    ? [encodePreface(), encodeHeaders(1, { ':method': method, ':path': path, ...all }, { endStream: false })]
    : [Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n`)];
  const end = isHttp2 ? encodeFrame(FRAME.data, FLAG.endStream, 1) : Buffer.from('0\r\n\r\n');
  const parts = [...head, ...bytes.map(encode), end];
  if (pace === 'at once') socket.write(Buffer.concat(parts));
  else
    for (const part of parts) {
      socket.write(part);
      await sleep(0);
    }
  const read = { path: `/api/events/${eventId}`, headers: { 'x-api-key': apiKey } };
  await expect.poll(async () => (await request(service.url, read)).status).toBe(200);
});

test.each(['1.1', '2'] as const)(
  'a handler that reads slowly gets all of a long body over HTTP/%s',
  async (httpVersion) => {
    const body = randomBytes(400_000);
    await using listener = await serveListener(async (context) => {
      const hash = createHash('sha256');
      for await (const chunk of context.request) {
        hash.update(chunk);
        await sleep(1);
      }
      sendJson(context, 200, JSON.stringify(hash.digest('hex')));
    });
    const pieces = Array.from({ length: body.length / 100 }, (_, at) => body.subarray(100 * at, 100 * (at + 1)));
    const expected = JSON.stringify(createHash('sha256').update(body).digest('hex'));
    if (httpVersion === '2') {
      using session = openHttp2Session(listener.url);
      const stream = session.open({ ':method': 'POST', ':path': '/' });
      for (const piece of pieces) stream.write(piece);
      stream.end();
      expect((await readReply(stream)).body).toBe(expected);
    } else {
      const sent = requestHttp(listener.url, { method: 'POST' });
      for (const piece of pieces) sent.write(piece);
      const [response] = await once(sent.end(), 'response');
      expect(await text(response)).toBe(expected);
    }
  },
);

test('joined bytes are those that were added, whatever is taken between', () => {
  const joined = new JoinedBytes();
  const added: number[] = [];
  const taken: number[] = [];
  for (let at = 0; at < 3_000; at++) {
    const piece = Buffer.from(Array.from({ length: (at * 7) % 11 }, (_, index) => (at + index) % 256));
    joined.add(piece);
    added.push(...piece);
    piece.fill(0);
    if (at % 97 === 0) taken.push(...joined.take(at % 5 === 0 ? undefined : Math.min(13, joined.length)));
    expect(joined.length).toBe(added.length - taken.length);
  }
  taken.push(...joined.take());
  expect(Buffer.from(taken).equals(Buffer.from(added))).toBe(true);
  expect(joined.length).toBe(0);
});
