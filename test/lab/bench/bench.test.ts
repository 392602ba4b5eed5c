/** The benchmark of calls: each server answers as expected, and one that does not fails the benchmark. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { REPOSITORY, type Run } from '../../support/process.ts';
import { quickOrLong } from '../../support/soak.ts';
import { CALL_NAMES, findCall } from './calls.ts';
import { createFixtures, userAt } from './fixtures.ts';
import { readOptions } from './options.ts';
import { runBench } from './run-bench.ts';
import { warmUntilSteady } from './warm-up.ts';

/** In the short form, one of the servers to compare with, and one that answers otherwise than expected. */
const FEW = ['--protocol', 'REST', '--server', 'node-http', '--server', 'usher'];

test('npm run bench has a figure of each call to each server', async () => {
  const few = quickOrLong([...FEW, '--server', 'against', '--against', await createFailing()], []);
  const { exitCode, stdout } = await bench([
    ...['--rounds', '1', '--requests', '1', '--warm-up', '1', ...few],
    ...CALL_NAMES.flatMap((name) => ['--only', name]),
  ]);
  expect(new Set(stdout.match(/^.* failed$/gm)?.map((line) => line.slice(0, 9)) ?? [])).toEqual(
    new Set(quickOrLong(['Usher in '], [])),
  );
  for (const name of CALL_NAMES) expect(stdout).toContain(name);
  // Seven calls over one protocol or four, three passes.
  expect(stdout).toMatch(quickOrLong(/^Usher +21$/m, /^Usher +84$/m));
  // It was not named.
  expect(stdout).not.toContain('OpenID Connect');
  // The benchmark of OpenID Connect shows that it exits with 0 otherwise.
  expect(exitCode).toBe(quickOrLong(1, 0));
}, 300_000);

const SHORT: readonly (readonly [options: string, figures: RegExp])[] = [
  // The job may be done before the server is warm: it runs beside the requests, and a busy machine sends few.
  ['--only expiry --rows 60000 --requests 5', /^GetWebhook +\d+\.\d+ +\d+\.\d+|60000 are too few/m],
  ['--only sizes --logins 20', /^passkeys .*\d+\+\d+/m],
];
const LONG: typeof SHORT = [
  ['--only rows --rows 2000 --rounds 1 --requests 10', /^GetWebhook +\d+ +\d+/m],
  ['--only calls --calls 200000', /^Memory in MB: used without garbage \d/m],
];

test.each(quickOrLong(SHORT, [...SHORT, ...LONG]))(
  'npm run bench -- growth %s has figures',
  async (options, figures) => {
    const { stdout, stderr } = await bench(['growth', ...options.split(' ')]);
    expect(`${stdout}\n${stderr}`).toMatch(figures);
  },
  300_000,
);

test('npm run bench -- logins has figures of both servers', async () => {
  const { exitCode, stdout } = await bench(['logins', '--rounds', '1', '--logins', '2']);
  expect(stdout).toMatch(/^Usher, in all +\d+ /m);
  expect(stdout).toMatch(/^better-auth, in all +\d+ /m);
  expect(exitCode).toBe(0);
}, 300_000);

const testInLongForm = test.runIf(quickOrLong(false, true));

testInLongForm(
  'npm run bench exits with 1 when one server answers one call otherwise than expected',
  async () => {
    const against = ['--server', 'against', '--against', await createFailing()];
    const rows = ['--protocol', 'REST', '--server', 'usher', ...against];
    const few = ['--rounds', '1', '--requests', '6', '--warm-up', '1', '--steady'];
    const { exitCode, stdout } = await bench(['--only', 'GenerateAuthUrl', ...few, ...rows]);
    expect(stdout).toMatch(/^Usher, REST +\d+ +±/m);
    expect(stdout).toMatch(/^Usher in .+, REST +failed$/m);
    expect(stdout).toMatch(/^Usher +\d+ +[\d.]+(, [\d.]+){2} +(steady|NOT STEADY)$/m);
    expect(exitCode).toBe(1);
  },
  300_000,
);

test('a benchmark explains an option that it does not have in one line, and exits with 1', async () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as typeof process.exit);
  const print = vi.spyOn(console, 'error').mockImplementation(() => {});
  const listen = vi.spyOn(process, 'on').mockReturnValue(process);
  onTestFinished(() => {
    for (const spy of [exit, print, listen]) spy.mockRestore();
  });
  await runBench(async () => readOptions(['--protocols', 'REST']).isProfiling);
  expect(print.mock.calls).toEqual([[expect.stringMatching(/^.*--protocols.*$/)]]);
  expect(exit.mock.calls).toEqual([[1]]);
});

test.each([
  ['--protocol', 'SOAP', '--protocol "SOAP" matches none of: REST, Connect JSON, Connect binary, gRPC'],
  ['--server', 'nginx', /^--server "nginx" matches none of: least, .*, usher$/],
  ['--server', 'against', /^--server "against" matches none of: /],
  ['--only', 'GetWebhooks', /^--only "GetWebhooks" matches none of: GetWebhook, .*, CheckIn, OpenID$/],
  ['--only', '', /^--only "" matches none of: /],
  ['--rounds', '0', '--rounds must be a whole number above 0'],
])('the benchmark of calls refuses %s "%s" with the names it has', (option, value, message) => {
  expect(() => readOptions([option, value])).toThrow(message);
});

test.each([
  [[], true],
  [['--only', 'openid'], true],
  [['--only', 'GetWebhook'], false],
  [['--protocol', 'REST'], false],
  [['--server', 'usher'], false],
])('the benchmark of calls with %j measures OpenID Connect: %s', (options, isMeasured) => {
  expect(readOptions(options).isOpenIdSelected).toBe(isMeasured);
});

test.each(['ExchangeToken first', 'CheckIn'])('a response of %s is right however long its round takes', (name) => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { fields, accepts } = findCall(createFixtures(), name).exampleAt(0);
  const { id: userId, ...user } = userAt(250);
  const respond = (at: number) => {
    const time = new Date(at).toISOString();
    const session = { id: userId, createdAt: time };
    return accepts({ session, user, checkIn: { attendeeId: fields.attendeeId ?? '', checkedInAt: time } });
  };
  const preparedAt = Date.now();
  vi.setSystemTime(preparedAt + 60 * 60_000);
  expect(respond(preparedAt)).toBe(true);
  expect(respond(Date.now())).toBe(true);
  // The row of an earlier request, or of none yet.
  expect(respond(preparedAt - 2_000)).toBe(false);
  expect(respond(Date.now() + 2_000)).toBe(false);
});

test('a steady warm-up doubles until the cost stays the same', async () => {
  const passes: number[] = [];
  const warm = (...costs: number[]) =>
    warmUntilSteady(true, async (count) => {
      const cpuMicros = costs[passes.push(count) - 1] ?? Number.NaN;
      return { calls: count * 100, cpuMicros };
    });
  expect(await warm(200, 120, 100, 98, 99)).toMatchObject({ calls: 4_800, isSteady: true });
  expect(passes.splice(0)).toEqual([3, 3, 6, 12, 24]);
  // Two rounds that agree by luck are not enough.
  expect(await warm(200, 150, 150, 120, 100, 98)).toMatchObject({ isSteady: false });
  expect(passes.splice(0)).toEqual([3, 3, 6, 12, 24, 48]);
  // It ends, and does not claim to be steady.
  const falling = [200, 180, 160, 140, 120, 100];
  expect(await warm(...falling, 100)).toEqual({ calls: 9_600, rounds: falling, isSteady: false });
  expect(passes).toEqual([3, 3, 6, 12, 24, 48]);
});

/** Returns a checkout whose server answers nothing as expected. */
async function createFailing(): Promise<string> {
  const checkout = await createDirectory();
  await mkdir(join(checkout, 'src'));
  await writeFile(
    join(checkout, 'src/start.js'),
    `require('node:http').createServer((request, response) => response.end('{}')).listen(0, '127.0.0.1');`,
  );
  return checkout;
}

function bench(options: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['src/run.js', 'test/lab/bench/main.ts', ...options],
      { cwd: REPOSITORY },
      (_, stdout, stderr) => resolve({ exitCode: child.exitCode, stdout, stderr }),
    );
  });
}
