import { expect, test } from 'vitest';
import { type DatabaseTarget, parseDatabaseUrl } from '../../src/config/database-url.ts';

const db = { host: 'db.test', port: 5432 };
const socket = { host: '/var/run/postgresql', port: 5432 };
const secure = { isDirect: false, rootCertificate: undefined, certificate: undefined, key: undefined };

test.each<[string, Partial<DatabaseTarget>]>([
  ['postgres://db.test', { servers: [db], database: undefined, user: undefined, password: undefined, tls: undefined }],
  ['postgresql://ada:a%40b@db.test/shop%20', { servers: [db], user: 'ada', password: 'a@b', database: 'shop ' }],
  ['postgres://a,b:6432,[::1]:1/usher', { servers: [server('a'), server('b', 6432), server('::1', 1)] }],
  ['postgres://a,b:1/usher?port=2', { servers: [server('a', 2), server('b', 1)] }],
  // Unix sockets.
  ['postgres://%2Frun%2Fpg:1/usher', { servers: [server('/run/pg', 1)] }],
  [
    'postgres:///usher?host=/run/pg&port=1&user=ada&password=p',
    { servers: [server('/run/pg', 1)], user: 'ada', password: 'p' },
  ],
  ['postgres:///usher', { servers: [socket], database: 'usher' }],
  ['postgres://ada@/usher', { servers: [socket], user: 'ada' }],
  ['postgres://', { servers: [socket] }],
  ['postgres:///?dbname=usher&host=a,b&port=1', { servers: [server('a', 1), server('b', 1)], database: 'usher' }],
  // TLS.
  ['postgres://db.test?sslmode=disable', { tls: undefined }],
  ['postgres://db.test?sslmode=prefer', { tls: { ...secure, mode: 'prefer' } }],
  ['postgres://db.test?ssl=true', { tls: { ...secure, mode: 'require' } }],
  ['postgres://db.test?sslmode=require', { tls: { ...secure, mode: 'require' } }],
  [
    'postgres://db.test?sslmode=require&sslrootcert=ca.pem',
    { tls: { ...secure, mode: 'verify-ca', rootCertificate: 'ca.pem' } },
  ],
  ['postgres://db.test?sslrootcert=system', { tls: { ...secure, mode: 'verify-full' } }],
  ['postgres://db.test?sslmode=require&channel_binding=require', { tls: { ...secure, mode: 'verify-full' } }],
  ['postgres://db.test?channel_binding=prefer', { tls: undefined }],
  ['postgres://db.test?sslnegotiation=direct', { tls: { ...secure, mode: 'require', isDirect: true } }],
  [
    'postgres://db.test?sslmode=verify-full&sslcert=c&sslkey=k',
    { tls: { ...secure, mode: 'verify-full', certificate: 'c', key: 'k' } },
  ],
  // No effect.
  [
    'postgres://db.test?target_session_attrs=read-write&connect_timeout=3&keepalives=1&pgbouncer=true',
    { servers: [db] },
  ],
])('%s', (url, expected) => {
  expect(parseDatabaseUrl(url)).toMatchObject(expected);
});

function server(host: string, port = 5432) {
  return { host, port };
}
