/** Usher as a process of its own on a Postgres and a mail server whose passwords are secrets. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { cloneDatabase, type TestDatabase } from './database.ts';
import { findFreePort } from './free-port.ts';
import type { SecretScanner } from './secret-scanner.ts';
import { ADMIN_KEY } from './service.ts';
import { TcpProxy } from './tcp-proxy.ts';

export interface Surroundings extends AsyncDisposable {
  readonly env: Record<string, string>;
  readonly url: string;
  readonly database: TestDatabase;
  readonly proxy: TcpProxy;
  readonly mail: Mail;
}

export interface Mail {
  /** The code in the last letter. */
  readonly code: string | undefined;
  /** From now on every letter is refused, with its address quoted. */
  refuse(): void;
}

export async function createSurroundings(scanner: SecretScanner): Promise<Surroundings> {
  const database = await cloneDatabase();
  const directory = await mkdtemp(join(tmpdir(), 'usher-secrets-'));
  const role = `usher_${randomBytes(4).toString('hex')}`;
  const databasePassword = plantPassword(scanner, 'database password');
  await database.sql.unsafe(`create role ${role} superuser login password '${databasePassword}'`);
  const url = new URL(database.url);
  url.username = role;
  url.password = databasePassword;
  const proxy = await TcpProxy.open(url.href);
  const { server, mail, port: smtpPort } = await startMail();

  const { privateKey } = generateKeyPairSync('ed25519');
  const jwk = { ...privateKey.export({ format: 'jwk' }), alg: 'EdDSA', kid: 'key' };
  scanner.keep('private JWK', jwk.d ?? '', { bytes: Buffer.from(jwk.d ?? '', 'base64url') });
  const encryptionKey = randomBytes(32);
  scanner.keep('encryption key', encryptionKey.toString('base64'), { bytes: encryptionKey });
  scanner.keep('admin key', ADMIN_KEY);
  await writeFile(join(directory, 'jwks'), JSON.stringify({ keys: [jwk] }));
  await writeFile(join(directory, 'key'), encryptionKey.toString('base64'));

  const port = await findFreePort();
  const env = {
    PORT: String(port),
    PUBLIC_URL: `http://localhost:${port}`,
    DATABASE_URL: proxy.through(url.href),
    ADMIN_KEY,
    AUTH_SIGNING_KEYS_FILE: join(directory, 'jwks'),
    ENCRYPTION_KEY_FILE: join(directory, 'key'),
    SMTP_URL: `smtp://usher:${plantPassword(scanner, 'SMTP password')}@127.0.0.1:${smtpPort}`,
    MAIL_FROM: 'login@usher.test',
    TRUSTED_PROXIES: '127.0.0.1',
    LOG_LEVEL: 'trace',
    REQUEST_TIMEOUT_MS: '1500',
    SHUTDOWN_TIMEOUT_MS: '2000',
  };
  const dispose = async () => {
    await proxy[Symbol.asyncDispose]();
    await new Promise<void>((resolve) => server.close(resolve));
    await database.sql.unsafe(`drop role ${role}`);
    await database[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  };
  return { env, url: `http://127.0.0.1:${port}`, database, proxy, mail, [Symbol.asyncDispose]: dispose };
}

function plantPassword(scanner: SecretScanner, name: string): string {
  return scanner.keep(name, `${name.replace(' ', '-')}-${randomBytes(8).toString('hex')}`);
}

async function startMail() {
  let code: string | undefined;
  let isRefusing = false;
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: (_credentials, _session, done) => done(null, { user: 'usher' }),
    onRcptTo: ({ address }, _session, done) => done(isRefusing ? new Error(`no mailbox ${address} here`) : null),
    async onData(stream, _session, done) {
      code = /^Subject: (\d{6}) /m.exec(await text(stream))?.[1];
      done();
    },
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const mail: Mail = {
    get code() {
      return code;
    },
    refuse: () => {
      isRefusing = true;
    },
  };
  return { server, mail, port: (server.server.address() as AddressInfo).port };
}
