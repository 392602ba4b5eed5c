/** `npm run bench:logins`: logins by e-mail and checks of sessions, compared with better-auth on the same Postgres. */
import { parseArgs } from 'node:util';
import { SIGNED_IN_USERS } from '../fixtures.ts';
import { measureRounds } from '../measure-rounds.ts';
import type { Cost } from '../meter.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { runBench } from '../run-bench.ts';
import { BETTER_AUTH, USHER } from '../servers.ts';
import { prepareDatabase } from '../set-up.ts';
import { startServer } from '../start-server.ts';
import { medianOf, ratiosOf, spreadOf } from '../statistics.ts';
import { Inbox } from './inbox.ts';
import { countUsers, Participant } from './participant.ts';
import { prepareBetterAuth } from './prepare-better-auth.ts';
import { createBetterAuthSubject, createUsherSubject } from './subjects.ts';

await runBench(async (stack, progress) => {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
  const rounds = Number(values.rounds);
  const users = countUsers(rounds);
  const inbox = await Inbox.open(stack);
  const { fixtures, environment, directory } = await prepareDatabase(stack, users, progress);
  // Usher serves the login page itself, and every browser has an address of its own.
  const { AUTH_PAGE_URL: _, ...settings } = environment;
  const mail = { SMTP_URL: inbox.url, MAIL_FROM: 'usher@example.com', TRUSTED_PROXIES: '127.0.0.1' };
  // better-auth has no deadline of a call, which a busy machine may miss.
  const patience = { REQUEST_TIMEOUT_MS: '60000' };
  const usherUrl = settings.DATABASE_URL ?? '';
  const betterAuthUrl = await prepareBetterAuth(usherUrl, fixtures, SIGNED_IN_USERS + users);

  progress('servers');
  const usherServer = await startServer(stack, USHER, {
    environment: { ...settings, ...mail, ...patience },
    directory,
  });
  const betterAuthEnvironment = { ...settings, ...mail, DATABASE_URL: betterAuthUrl };
  const betterAuthServer = await startServer(stack, BETTER_AUTH, { environment: betterAuthEnvironment, directory });
  const [usherSubject, betterAuthSubject] = [createUsherSubject(fixtures, inbox), createBetterAuthSubject(inbox)];
  const usher = new Participant(stack, usherSubject, usherServer, usherUrl);
  const betterAuth = new Participant(stack, betterAuthSubject, betterAuthServer, betterAuthUrl);

  const tasks = [
    (round: number) => usher.logIn(round),
    (round: number) => betterAuth.logIn(round),
    (round: number) => usher.check(usherSubject.checks.fresh, round),
    (round: number) => betterAuth.check(betterAuthSubject.checks.fresh, round),
    (round: number) => usher.check(usherSubject.checks.stale, round),
  ] as const;
  const costs = await measureRounds(tasks, { rounds, progress }, (task, round) => task(round));
  const [usherLogins = [], betterAuthLogins = [], usherChecks = [], betterAuthChecks = [], staleChecks = []] = costs;
  process.stdout.write(
    layOutTable(
      ['CPU us', 'Usher', 'better-auth', 'ratio', 'rounds', 'and Postgres', '', 'ratio', 'rounds'],
      [
        describe('login by code', usherLogins, betterAuthLogins),
        describe('session check, as of now', usherChecks, betterAuthChecks),
        describe('session check, at most 5 s old', staleChecks, betterAuthChecks),
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
