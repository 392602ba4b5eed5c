/**
 * What some tests need beyond what npm installs. On a developer's machine they are skipped without it; CI fails. A
 * constant that skips tests for want of a tool is named `SKIPS_` and the tool: so the start of a run finds its files.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Without windows, Chromium takes a third less CPU. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';
export const CHROMIUM_PATH =
  process.env.CHROMIUM_PATH ?? (existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : '/usr/bin/chromium');
export const POSTGRES_BIN = process.env.PG_BIN ?? '/usr/lib/postgresql/15/bin';
export const PGBOUNCER_PATH = process.env.PGBOUNCER ?? '/usr/local/bin/pgbouncer';
export const APACHE_PATH = '/usr/sbin/apache2';
export const APACHE_MODULES = '/usr/lib/apache2/modules';
export const H2LOAD_PATH = '/usr/bin/h2load';
export const HAPROXY_PATH = '/usr/sbin/haproxy';
export const PYTHON_PATH = '/usr/bin/python3';
/** The plugins write code for the later protobuf; gRPC of Debian works with either. */
const GO_PACKAGES = [
  ...['golang-go', 'golang-github-coreos-go-oidc-dev', 'golang-google-grpc-dev'],
  ...['golang-github-golang-protobuf-1-5-dev', 'protoc-gen-go', 'protoc-gen-go-grpc'],
];

interface Tool {
  readonly what: string;
  readonly isThere: () => boolean;
  /** CI skips the tests as well. */
  readonly isOptional?: boolean;
}

const TOOLS = {
  APACHE: {
    what: 'Apache with mod_auth_openidc',
    isThere: () => existsSync(APACHE_PATH) && existsSync(`${APACHE_MODULES}/mod_auth_openidc.so`),
  },
  BUILDAH: {
    what: 'buildah and busybox-static, run by root',
    isThere: () => process.getuid?.() === 0 && canRun('which', 'buildah', 'busybox'),
  },
  CHROMIUM: { what: `Chromium at ${CHROMIUM_PATH} (CHROMIUM_PATH)`, isThere: () => existsSync(CHROMIUM_PATH) },
  CITUS: { what: 'CITUS_URL', isThere: () => Boolean(process.env.CITUS_URL), isOptional: true },
  DEBIAN_POSTGRES: {
    what: `Postgres 15 in ${POSTGRES_BIN} (PG_BIN)`,
    isThere: () => existsSync(join(POSTGRES_BIN, 'pg_basebackup')),
  },
  GO: {
    what: GO_PACKAGES.join(', '),
    isThere: () => canRun('dpkg-query', '--show', ...GO_PACKAGES),
  },
  H2LOAD: { what: 'h2load of nghttp2-client', isThere: () => existsSync(H2LOAD_PATH) },
  HAPROXY: { what: 'haproxy', isThere: () => existsSync(HAPROXY_PATH) },
  NPM_REGISTRY: { what: 'a registry for npm', isThere: () => canRun('npm', 'ping') },
  PATRONI: {
    what: 'patroni and etcd-server',
    isThere: () => existsSync('/usr/bin/patroni') && existsSync('/usr/bin/etcd'),
  },
  PGBOUNCER: {
    what: `pgbouncer at ${PGBOUNCER_PATH} (PGBOUNCER), or Postgres 15`,
    isThere: () => existsSync(PGBOUNCER_PATH) && existsSync(join(POSTGRES_BIN, 'pg_basebackup')),
  },
  PROMETHEUS: { what: 'promtool of prometheus', isThere: () => canRun('promtool', '--version') },
  PYTHON: { what: `python3 at ${PYTHON_PATH}`, isThere: () => existsSync(PYTHON_PATH) },
  PYTHON_GRPC: { what: 'python3-grpcio', isThere: () => canRun(PYTHON_PATH, '-c', 'import grpc') },
  PYTHON_STUBS: {
    what: 'python3-grpcio, python3-protobuf and protobuf-compiler-grpc',
    isThere: () =>
      canRun(PYTHON_PATH, '-c', 'import grpc, google.protobuf') && canRun('which', 'protoc', 'grpc_python_plugin'),
  },
} satisfies Record<string, Tool>;

/** Returns whether tests that need the tool are skipped. */
export function lacks(name: keyof typeof TOOLS): boolean {
  const { isThere, isOptional }: Tool = TOOLS[name];
  return (isOptional || !process.env.CI) && !isThere();
}

/** Returns a line for each tool for want of which a file of the run skips tests. `files` has the text of each. */
export function describeSkips(files: ReadonlyMap<string, string>): readonly string[] {
  return (Object.keys(TOOLS) as (keyof typeof TOOLS)[]).flatMap((name) => {
    const uses = new RegExp(`SKIPS_${name}\\b|lacks\\('${name}'\\)`);
    const users = [...files].filter(([, text]) => uses.test(text)).map(([file]) => file);
    return users.length > 0 && lacks(name) ? `Skipped for want of ${TOOLS[name].what}: ${users.join(', ')}` : [];
  });
}

function canRun(command: string, ...parameters: readonly string[]): boolean {
  return spawnSync(command, parameters, { stdio: 'ignore', timeout: 10_000 }).status === 0;
}
