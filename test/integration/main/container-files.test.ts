/** What the files for containers say about Usher. `test/lab/cluster/container.test.ts` builds and runs the image. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { SETTINGS } from '../../../src/config/settings.ts';
import { ALL_SETTINGS } from '../../../src/modules/modules.ts';
import { REPOSITORY } from '../../support/process.ts';

const read = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8');
const dockerfile = read('Dockerfile');
const { services } = parse(read('compose.yaml'), { merge: true });
const [deployment, service, unreadyService, budget, policy] = parseAllDocuments(
  read('test/examples/kubernetes/usher.yaml'),
).map((document) => document.toJS());
const { spec } = deployment.spec.template;
const [container] = spec.containers;

const settings: readonly string[] = Object.values(ALL_SETTINGS).map(({ name }) => name);
/** Without them a service with a Postgres of its own does not start. */
const REQUIRED = ['DATABASE_URL', 'ADMIN_KEY', 'AUTH_SIGNING_KEYS_FILE', 'ENCRYPTION_KEY_FILE', 'PUBLIC_URL'];

test.each([
  ['compose.yaml', Object.keys(services.usher.environment)],
  ['the manifest', container.env.map(({ name }: { name: string }) => name)],
])('%s sets what is required, and nothing that Usher does not know', (_, names: string[]) => {
  expect(names).toEqual(expect.arrayContaining(REQUIRED));
  expect(names.filter((name) => !settings.includes(name))).toEqual([]);
});

test('package, client package, image and OpenAPI documents have one version', () => {
  const labelled = /org\.opencontainers\.image\.version=(\S+)/.exec(dockerfile)?.[1];
  const versions = [
    ...['package.json', 'src/client/package.json'].map((path) => JSON.parse(read(path)).version),
    ...['rest', 'connect'].map((name) => JSON.parse(read(`gen/openapi/${name}.json`)).info.version),
  ];
  expect(versions).toEqual(Array(4).fill(labelled));
});

test('the image lacks the tools for tests of applications', () => {
  expect(read('.dockerignore').trimEnd().split('\n').at(-1)).toBe('src/testing');
});

test('none of them lets Usher write or become root', () => {
  expect(dockerfile).toMatch(/^USER 65532:65532$/m);
  for (const name of ['usher', 'secrets']) {
    expect(services[name]).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
  }
  expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65_532 });
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
  });
});

test('a container of compose.yaml has limits for memory and logs, and no more than one writes the secrets', () => {
  for (const [name, { mem_limit, logging }] of Object.entries<Record<string, unknown>>(services)) {
    expect(mem_limit, name).toMatch(/^\d+[mg]$/);
    expect(logging, name).toEqual({ driver: 'json-file', options: { 'max-size': '20m', 'max-file': '5' } });
  }
  expect(services.usher.volumes).toEqual(['secrets:/secrets:ro']);
  expect(services.secrets.volumes).toEqual(['secrets:/secrets']);
});

test('the manifest trusts few addresses, and lets nobody but a Prometheus reach the metrics', () => {
  const { value } = container.env.find(({ name }: { name: string }) => name === 'TRUSTED_PROXIES');
  const prefixes = String(value)
    .split(',')
    .map((range) => Number(range.split('/')[1] ?? 32));
  expect(Math.min(...prefixes)).toBeGreaterThanOrEqual(28);
  const { podSelector, policyTypes, ingress } = policy.spec;
  expect(podSelector.matchLabels).toEqual(deployment.spec.selector.matchLabels);
  expect(policyTypes).toEqual(['Ingress']);
  const names = container.ports.map(({ name }: { name: string }) => name);
  // Each rule is for one port of the container, and names who may connect.
  expect(ingress.flatMap(({ ports }: { ports: { port: string }[] }) => ports.map(({ port }) => port))).toEqual(names);
  const peers = ingress.flatMap(({ from }: { from: Record<string, { matchLabels: object }>[] }) => from);
  const labels = peers.map((peer: Record<string, { matchLabels: object }>) => Object.values(peer)[0]?.matchLabels);
  expect(labels).toEqual([
    { 'kubernetes.io/metadata.name': 'ingress-nginx' },
    { 'calls-usher': 'true' },
    { 'kubernetes.io/metadata.name': 'monitoring' },
  ]);
});

test('the image has all of src but the package for tests: any other file may import any other', () => {
  const lines = read('.dockerignore').trim().split('\n');
  expect(lines).toContain('!src');
  expect(lines.filter((line) => !line.startsWith('!'))).toEqual(['*', '**/*.md', 'src/testing']);
});

test('the optional pgbouncer is one that Usher can run behind', () => {
  const { profiles, environment } = services.pgbouncer;
  expect(profiles).toEqual(['pgbouncer']);
  expect(environment).toMatchObject({ POOL_MODE: 'transaction', DB_HOST: 'postgres' });
  expect(environment.MAX_PREPARED_STATEMENTS).toBeGreaterThan(0);
  expect(services.usher.environment.DATABASE_URL).toMatch(/@\$\{DATABASE_HOST:-postgres\}\//);
});

test('all of them give a shutdown its time', () => {
  const graceMs =
    Math.min(Number.parseInt(services.usher.stop_grace_period, 10), spec.terminationGracePeriodSeconds) * 1000;
  expect(graceMs).toBeGreaterThan(2 * SETTINGS.shutdownTimeoutMs.default);
});

test('all of them agree on the port and on the labels', () => {
  const port = SETTINGS.port.default;
  expect(dockerfile).toContain(`EXPOSE ${port}\n`);
  expect(services.usher.ports).toContain(`127.0.0.1:${port}:${port}`);
  expect(container.ports).toContainEqual({ name: 'http', containerPort: port });
  const { matchLabels } = deployment.spec.selector;
  expect(deployment.spec.template.metadata.labels).toEqual(matchLabels);
  expect([service.spec.selector, budget.spec.selector.matchLabels]).toEqual([matchLabels, matchLabels]);
});

test('an ingress reaches pods that are not ready by a Service of its own, and callers by none', () => {
  const { publishNotReadyAddresses, ...others } = unreadyService.spec;
  expect({ publishNotReadyAddresses, others }).toEqual({ publishNotReadyAddresses: true, others: service.spec });
});

test('both let a Prometheus of the same network read the metrics', () => {
  const { METRICS_HOST, METRICS_PORT } = services.usher.environment;
  expect({ METRICS_HOST, METRICS_PORT }).toEqual({ METRICS_HOST: '0.0.0.0', METRICS_PORT: 9_464 });
  const { annotations } = deployment.spec.template.metadata;
  expect(container.env).toEqual(
    expect.arrayContaining([{ name: 'METRICS_PORT', value: annotations['prometheus.io/port'] }]),
  );
  expect(container.ports).toEqual(expect.arrayContaining([{ name: 'metrics', containerPort: METRICS_PORT }]));
  expect(service.spec.ports).toHaveLength(1);
});
