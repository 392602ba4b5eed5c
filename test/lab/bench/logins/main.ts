/** `npm run bench:logins`: logins by e-mail and checks of sessions, compared with better-auth on the same Postgres. */
import { parseArgs } from 'node:util';
import { readCount } from '../command-line.ts';
import { SIGNED_IN_USERS } from '../fixtures.ts';
import { measureRounds } from '../measure-rounds.ts';
import { type Cost, Meter } from '../meter.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { runBench } from '../run-bench.ts';
import { countUsers, Scenario, type Step } from '../scenario.ts';
import { BETTER_AUTH, USHER } from '../servers.ts';
import { prepareDatabase } from '../set-up.ts';
import { type RunningServer, startServer } from '../start-server.ts';
import { medianOf, ratiosOf, spreadOf } from '../statistics.ts';
import { Inbox } from './inbox.ts';
import { prepareBetterAuth } from './prepare-better-auth.ts';
import { createBetterAuthSteps, createUsherSteps } from './steps.ts';

const LOGINS = 300;
/** Of each kind, for each login. */
const CHECKS = 7;
const CONCURRENCY = 64;

await runBench(async (stack, progress) => {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
  const rounds = readCount('rounds', values.rounds);
  const users = countUsers({ count: LOGINS, rounds });
  const inbox = await Inbox.open(stack);
  const { fixtures, environment, directory } = await prepareDatabase(stack, users, progress);
  // Usher serves the login page itself, and every browser has an address of its own.
  const { AUTH_PAGE_URL: _, ...settings } = environment;
  const mail = { SMTP_URL: inbox.url, MAIL_FROM: 'usher@example.com', TRUSTED_PROXIES: '127.0.0.1' };
  const usherUrl = settings.DATABASE_URL ?? '';
  const betterAuthUrl = await prepareBetterAuth(usherUrl, fixtures, SIGNED_IN_USERS + users);

  progress('servers');
  const usherServer = await startServer(stack, USHER, { environment: { ...settings, ...mail }, directory });
  const betterAuthEnvironment = { ...settings, ...mail, DATABASE_URL: betterAuthUrl };
  const betterAuthServer = await startServer(stack, BETTER_AUTH, { environment: betterAuthEnvironment, directory });
  const compare = (server: RunningServer, databaseUrl: string, [logIn, ...checks]: readonly Step[]) => {
    const meter = new Meter(stack, server, { databaseUrl, concurrency: CONCURRENCY });
    const steps = [...(logIn ? [logIn] : []), ...checks.map((check) => ({ ...check, times: CHECKS }))];
    let nextUser = SIGNED_IN_USERS;
    return new Scenario({ meter, steps, count: LOGINS }, () => nextUser++);
  };
  const scenarios = [
    compare(usherServer, usherUrl, createUsherSteps(fixtures, inbox)),
    compare(betterAuthServer, betterAuthUrl, createBetterAuthSteps(inbox)),
  ];
  const [usher = [], betterAuth = []] = await measureRounds(scenarios, { rounds, progress }, (scenario, round) =>
    scenario.measure(round),
  );
  const ofStep = (costs: readonly (readonly Cost[])[], step: number) => costs.flatMap((round) => round[step] ?? []);
  process.stdout.write(
    layOutTable(
      ['CPU us', 'Usher', 'better-auth', 'ratio', 'rounds', 'and Postgres', '', 'ratio', 'rounds'],
      [
        describe('login by code', ofStep(usher, 0), ofStep(betterAuth, 0)),
        describe('session check, as of now', ofStep(usher, 1), ofStep(betterAuth, 1)),
        describe('session check, at most 5 s old', ofStep(usher, 2), ofStep(betterAuth, 1)),
      ],
    ),
  );
  return true;
});

function describe(name: string, usher: readonly Cost[], betterAuth: readonly Cost[]): string[] {
  const columns = [
    ({ serverMicros }: Cost) => serverMicros,
    ({ serverMicros, postgresMicros }: Cost) => serverMicros + postgresMicros,
  ].flatMap((read) => {
    const [own, other] = [usher.map(read), betterAuth.map(read)];
    const ratios = ratiosOf(own, other);
    return [
      ...[own, other].map((values) => medianOf(values).toFixed(0)),
      `${medianOf(ratios).toFixed(2)}x`,
      `±${(100 * spreadOf(ratios)).toFixed(0)} %`,
    ];
  });
  return [name, ...columns];
}
