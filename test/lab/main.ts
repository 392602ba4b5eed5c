/** `npm run test:lab`: what a night runs, part after part. `npm run test:lab -- histories` runs the parts that it names. */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

type Command = readonly string[];

/** Tests in their long form. */
const runLong = (...paths: string[]): Command => ['test/vitest.js', 'run', '--mode', 'lab', ...paths];
const bench = (...options: string[]): Command => ['src/run.js', 'test/lab/bench/main.ts', ...options];

function findSurvivors(...options: string[]): Command {
  return ['src/run.js', 'test/lab/faults/main.ts', ...options];
}

/** What is on another Postgres, or on none, whatever CITUS_URL says. */
const NOT_ON_CITUS =
  'test/integration/{log.test.ts,{database,domain/audit,examples,http,mail,main,packages,support,testing,modules/{console,demo}}/**}';
const ON_CITUS = ['test/contract', 'test/domain', 'test/login-page', 'test/modules', 'test/integration'];

const PARTS: Record<string, readonly Command[]> = {
  cluster: process.env.CITUS_URL
    ? [runLong('test/lab/cluster', ...ON_CITUS, '--exclude', NOT_ON_CITUS, '--no-isolate')]
    : [runLong('test/lab/cluster', '--maxWorkers', '2')],
  histories: [runLong('test/lab/histories')],
  clients: [runLong('test/lab/clients')],
  soak: [runLong('test/robustness')],
  coverage: [['test/vitest.js', 'run', '--mode', 'integration', '--coverage']],
  faults: [findSurvivors(), ['src/run.js', 'test/mutants/main.ts']],
  bench: [
    runLong('test/lab/bench'),
    bench(),
    bench('logins'),
    bench('webhooks', '--rows', '1000000'),
    bench('growth', '--rows', '1000000', '--calls', '400000'),
  ],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { survivors: { type: 'boolean' }, test: { type: 'string', multiple: true, default: [] } },
});
const paths = positionals.filter((name) => name.startsWith('src/'));
const names = positionals.filter((name) => !paths.includes(name));
const search = [
  ...paths,
  ...(values.survivors ? ['--survivors'] : []),
  ...values.test.flatMap((file) => ['--test', file]),
];
if (search.length > 0) PARTS.faults = [findSurvivors(...search)];
const unknown = names.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  process.stderr.write(`There is no part ${unknown.join(', ')}, but ${Object.keys(PARTS).join(', ')}\n`);
  process.exit(1);
}
const failed: string[] = [];
for (const [name, commands] of Object.entries(PARTS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  process.stdout.write(`\n== ${name}\n`);
  const results = commands.map((command) => spawnSync(process.execPath, command, { stdio: 'inherit' }).status);
  if (results.some((status) => status !== 0)) failed.push(name);
}
if (failed.length > 0) {
  process.stderr.write(`\nFailed: npm run test:lab -- ${failed.join(' ')}\n`);
  process.exitCode = 1;
}
