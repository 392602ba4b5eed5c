import { execFileSync, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import https from 'node:https';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect, test } from 'vitest';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { createCertificate } from '../support/certificate.ts';
import { createDirectory } from '../support/directory.ts';
import { findFreePort } from '../support/free-port.ts';
import { REPOSITORY } from '../support/process.ts';
import { createTenant, startTestService } from '../support/service.ts';

test('HAProxy serves REST and gRPC by TLS in front of two servers', async () => {
  await using first = await startTestService();
  await using second = await startTestService({ database: first.database });
  const tenant = await createTenant(first);
  const directory = await createDirectory();
  const { cert, key } = await createCertificate();
  await writeFile(join(directory, 'haproxy.pem'), `${cert}\n${key}\n`);
  const port = await findFreePort();
  const haproxy = spawn('haproxy', ['-f', join(REPOSITORY, 'test/examples/haproxy/haproxy.cfg')], {
    env: {
      ...process.env,
      HAPROXY_ADDRESS: `127.0.0.1:${port}`,
      HAPROXY_CERT: join(directory, 'haproxy.pem'),
      HAPROXY_SOCKET: join(directory, 'haproxy.sock'),
      USHER_1: `127.0.0.1:${first.port}`,
      USHER_2: `127.0.0.1:${second.port}`,
    },
    stdio: 'ignore',
  });
  try {
    const getStatus = () =>
      new Promise((resolve) => {
        const options = { port, path: '/readyz', ca: cert, servername: 'localhost' };
        https.get(options, (reply) => resolve(reply.resume().statusCode)).on('error', () => resolve(0));
      });
    await expect.poll(getStatus).toBe(200);
    const transport = createGrpcTransport({ baseUrl: `https://localhost:${port}`, nodeOptions: { ca: cert } });
    const events = createClient(EventService, transport);
    const headers = { 'x-api-key': tenant.apiKey };
    for (let count = 0; count < 6; count++) expect((await events.listEvents({}, { headers })).events).toEqual([]);
  } finally {
    haproxy.kill();
  }
});

test('its configuration is valid in cleartext with three servers', () => {
  const servers = Object.fromEntries([1, 2, 3].map((each) => [`USHER_${each}`, `127.0.0.1:${each}`]));
  const env = { ...process.env, ...servers, HAPROXY_ADDRESS: '127.0.0.1:1', HAPROXY_SOCKET: '/tmp/haproxy.sock' };
  execFileSync('haproxy', ['-c', '-f', join(REPOSITORY, 'test/examples/haproxy/haproxy.cfg')], {
    env,
    stdio: 'ignore',
  });
});
