/** What Usher speaks over TLS. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type ConnectionOptions, connect, getCiphers, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { STRICT_TRANSPORT_SECURITY } from '../../../src/http/tls.ts';
import { createCertificate, writeCertificate } from '../../support/certificate.ts';
import { createDirectory } from '../../support/directory.ts';
import { openHttp2Session } from '../../support/http2-session.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { RecordedLog } from '../../support/recorded-log.ts';
import { startTestService } from '../../support/service.ts';
import { serveListener } from './serve-listener.ts';

async function openTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options });
  try {
    await once(socket, 'secureConnect');
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return socket;
}

describe.each([
  { keyType: 'ec', authentication: 'ECDSA' },
  { keyType: 'rsa', authentication: 'RSA' },
] as const)('with a certificate of the kind $keyType', ({ keyType, authentication }) => {
  let listener: Awaited<ReturnType<typeof serveListener>>;

  beforeAll(async () => {
    listener = await serveListener(() => {}, { tls: await createCertificate(keyType) });
  });
  afterAll(() => listener[Symbol.asyncDispose]());

  /** Returns what the client and the service agree on, or undefined. */
  const agree = async (options: ConnectionOptions) => {
    const socket = await openTls(listener.port, options).catch(() => undefined);
    const agreed = socket && { version: socket.getProtocol(), cipher: socket.getCipher().name };
    socket?.destroy();
    return agreed;
  };

  test('TLS 1.2 has authenticated ciphers with forward secrecy only', async () => {
    const accepted: string[] = [];
    const names = getCiphers().map((name) => name.toUpperCase());
    expect(names.length).toBeGreaterThan(50);
    for (const name of names.filter((each) => !each.startsWith('TLS_'))) {
      const options = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', ciphers: `${name}:@SECLEVEL=0` } as const;
      if (await agree(options)) accepted.push(name);
    }
    expect(accepted.sort()).toEqual([
      `ECDHE-${authentication}-AES128-GCM-SHA256`,
      `ECDHE-${authentication}-AES256-GCM-SHA384`,
      `ECDHE-${authentication}-CHACHA20-POLY1305`,
    ]);
  });

  test.each(['TLSv1', 'TLSv1.1'] as const)('%s is refused', async (version) => {
    expect(await agree({ minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' })).toBeUndefined();
  });

  test.each([
    ['TLSv1.2', `ECDHE-${authentication}-CHACHA20-POLY1305:ECDHE-${authentication}-AES128-GCM-SHA256`],
    ['TLSv1.3', 'TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256'],
  ] as const)('the service chooses the cipher in %s', async (version, ciphers) => {
    const agreed = await agree({ minVersion: version, maxVersion: version, ciphers });
    expect(agreed).toEqual({ version, cipher: ciphers.split(':')[1] });
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('%s resumes no session', async (version) => {
    const options = { minVersion: version, maxVersion: version } as const;
    const first = await openTls(listener.port, options);
    // TLS 1.3 sends the session after the handshake.
    const session = version === 'TLSv1.2' ? first.getSession() : (await once(first, 'session'))[0];
    const second = await openTls(listener.port, { ...options, session });
    expect(second.isSessionReused()).toBe(false);
    for (const socket of [first, second]) socket.destroy();
  });

  test('a client cannot renegotiate', async () => {
    const socket = await openTls(listener.port, { maxVersion: 'TLSv1.2' });
    const ended = new Promise((resolve) => {
      socket.on('error', resolve);
      socket.renegotiate({}, (error) => resolve(error));
    });
    expect(await ended).toBeInstanceOf(Error);
    socket.destroy();
  });
});

describe('Strict-Transport-Security', () => {
  const requests = [
    'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /api/webhooks/x HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /login HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'POST /usher.v1.EventService/GetEvent HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    'POST /usher.v1.EventService/No HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/grpc-web\r\nContent-Length: 0\r\n\r\n',
    'POST /usher.v1.EventService/GetEvent HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/grpc-web\r\nContent-Length: 0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: [\r\n\r\n',
    'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'nonsense\r\n\r\n',
  ];
  const streams = [
    { ':path': '/healthz' },
    { ':method': 'POST', ':path': '/usher.v1.EventService/GetEvent', 'content-type': 'application/grpc' },
    { ':method': 'POST', ':path': '/usher.v1.EventService/No', 'content-type': 'application/grpc' },
  ];

  test('is in every answer over TLS, and in none over cleartext', async () => {
    const { cert, key } = await createCertificate();
    await using secured = await startTestService({ config: { tls: { cert, key } } });
    await using cleartext = await startTestService({
      database: secured.database,
      like: secured.config,
      config: { tls: undefined, publicUrl: undefined },
    });
    for (const text of requests) {
      using overTls = new RawConnection(await openTls(secured.port));
      overTls.send(text);
      expect((await overTls.reply()).headers, text).toMatchObject({
        'strict-transport-security': STRICT_TRANSPORT_SECURITY,
      });
      using plain = await RawConnection.open(cleartext.port);
      plain.send(text);
      expect((await plain.reply()).headers, text).not.toHaveProperty('strict-transport-security');
    }
    using session = openHttp2Session(secured.url, await openTls(secured.port, { ALPNProtocols: ['h2'] }));
    for (const headers of streams) {
      const { headers: answered } = await session.exchange({ ':method': 'GET', ...headers });
      expect(answered, headers[':path']).toMatchObject({ 'strict-transport-security': STRICT_TRANSPORT_SECURITY });
    }
  });
});

test('the service takes a renewed certificate from its files, and keeps the one before if it is broken', async () => {
  const directory = await createDirectory();
  const paths = await writeCertificate(directory);
  const files = { cert: paths.TLS_CERT_FILE, key: paths.TLS_KEY_FILE };
  const log = new RecordedLog();
  const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
  await using service = await log.start({ config: { tls: { cert, key, files } } });
  const readFingerprint = async () => {
    const socket = await openTls(service.port);
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  const said = (message: string) => log.lines.filter((line) => line.includes(`"msg":"${message}"`));
  const first = await readFingerprint();

  await writeFile(files.cert, 'no certificate');
  await expect.poll(() => said('certificate not renewed')).toHaveLength(1);
  expect(await readFingerprint()).toBe(first);

  await writeCertificate(directory);
  await expect.poll(() => said('certificate renewed')).toHaveLength(1);
  expect(await readFingerprint()).not.toBe(first);
});
