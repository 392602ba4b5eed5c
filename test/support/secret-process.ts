/** Usher as a process of its own, with a Postgres and a mail server whose passwords are secrets to look for. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { TcpProxy } from '../../src/testing/tcp-proxy.ts';
import { cloneDatabase } from './database.ts';
import { findFreePort } from './free-port.ts';
import { MailServer } from './mail-server.ts';
import { createRsaJwk } from './oidc.ts';
import { UsherProcess } from './process.ts';
import type { SecretScanner } from './secret-scanner.ts';
import { ADMIN_KEY } from './service.ts';
import { SpanCollector } from './span-collector.ts';

export type Surroundings = Awaited<ReturnType<typeof createSurroundings>>;

/** Starts Usher with all it needs, and tells the scanner its secrets. */
export async function createSurroundings(scanner: SecretScanner) {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await cloneDatabase());
  const role = `usher_${randomBytes(4).toString('hex')}`;
  const databasePassword = plantPassword(scanner, 'database password');
  await database.sql.unsafe(`create role ${role} superuser login password '${databasePassword}'`);
  stack.defer(async () => void (await database.sql.unsafe(`drop role ${role}`)));
  const url = new URL(database.url);
  url.username = role;
  url.password = databasePassword;
  const proxy = stack.use(await TcpProxy.open(url.href));

  let isRefusing = false;
  const server = stack.use(
    await MailServer.start({
      onAuth: (_credentials, _session, done) => done(null, { user: 'usher' }),
      onRcptTo: ({ address }, _session, done) => done(isRefusing ? new Error(`no mailbox ${address} here`) : null),
    }),
  );
  const mail = {
    /** The code in the latest e-mail. */
    get code() {
      return /^Subject: (\d{6}) /m.exec(server.emails.at(-1)?.raw ?? '')?.[1];
    },
    /** Makes the server refuse every later e-mail with a message that quotes the address. */
    refuse: () => {
      isRefusing = true;
    },
  };

  const { privateKey } = generateKeyPairSync('ed25519');
  const jwk = { ...privateKey.export({ format: 'jwk' }), alg: 'EdDSA', kid: 'key' };
  scanner.keep('private JWK', jwk.d ?? '', { bytes: Buffer.from(jwk.d ?? '', 'base64url') });
  const rsa = createRsaJwk();
  for (const part of [rsa.d, rsa.p, rsa.q]) {
    scanner.keep('private RSA key', part ?? '', { bytes: Buffer.from(part ?? '', 'base64url') });
  }
  const collector = stack.use(await SpanCollector.open());
  const metricsPort = await findFreePort();
  const encryptionKey = randomBytes(32);
  scanner.keep('encryption key', encryptionKey.toString('base64'), { bytes: encryptionKey });
  scanner.keep('admin key', ADMIN_KEY);
  const usher = stack.use(
    await UsherProcess.start({
      files: {
        jwks: JSON.stringify({ keys: [jwk] }),
        oidc: JSON.stringify({ keys: [rsa] }),
        key: encryptionKey.toString('base64'),
      },
      env: {
        ...collector.env,
        PORT: '0',
        DATABASE_URL: proxy.through(url.href),
        ADMIN_KEY,
        AUTH_SIGNING_KEYS_FILE: 'jwks',
        OIDC_SIGNING_KEYS_FILE: 'oidc',
        ENCRYPTION_KEY_FILE: 'key',
        SMTP_URL: `smtp://usher:${plantPassword(scanner, 'SMTP password')}@127.0.0.1:${server.port}`,
        MAIL_FROM: 'login@usher.test',
        TRUSTED_PROXIES: '127.0.0.1',
        LOG_LEVEL: 'trace',
        METRICS_PORT: String(metricsPort),
        REQUEST_TIMEOUT_MS: '1500',
        SHUTDOWN_TIMEOUT_MS: '2000',
      },
    }),
  );
  const all = stack.move();
  return {
    usher,
    spans: collector.spans,
    url: usher.url,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    database,
    proxy,
    mail,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function plantPassword(scanner: SecretScanner, name: string): string {
  return scanner.keep(name, `${name.replace(' ', '-')}-${randomBytes(8).toString('hex')}`);
}
