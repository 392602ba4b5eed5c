/** `npm run bench -- logins`: logins by e-mail, compared with better-auth on the same Postgres. */
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { onServer, withDatabase } from '../../../../src/testing/on-server.ts';
import { MailServer } from '../../../support/mail-server.ts';
import { readCount } from '../command-line.ts';
import { type Fixtures, SIGNED_IN_USERS, userAt } from '../fixtures.ts';
import { measureRounds } from '../measure-rounds.ts';
import { type Cost, Meter } from '../meter.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { runBench } from '../run-bench.ts';
import { countUsers, Scenario } from '../scenario.ts';
import { BETTER_AUTH, USHER } from '../servers.ts';
import { prepareDatabase } from '../set-up.ts';
import { startServer } from '../start-server.ts';
import { medianOf, ratiosOf, spreadOf } from '../statistics.ts';
import { codes, createUsherSteps, RIVAL_STEPS } from './steps.ts';

/** Usher delays e-mails by a random time. */
const CONCURRENCY = 64;
const USERS_A_STATEMENT = 1_000;
const DATABASE = 'better_auth';

await runBench(async (stack, progress) => {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '5' }, logins: { type: 'string', default: '300' } },
  });
  const rounds = readCount('rounds', values.rounds);
  const count = readCount('logins', values.logins);
  const users = countUsers({ count, rounds });
  const inbox = await MailServer.start({
    onData: async (stream, { envelope }, done) => {
      const code = /^Subject: (\d{6,8}) /m.exec(await text(stream))?.[1] ?? '';
      for (const { address } of envelope.rcptTo) codes.set(address, code);
      done();
    },
  });
  stack.use(inbox);
  const { fixtures, environment, directory } = await prepareDatabase(stack, users, progress);
  // Usher serves the login page itself, and every browser has an address of its own.
  const { AUTH_PAGE_URL: _, ...settings } = environment;
  const mail = { SMTP_URL: inbox.url, MAIL_FROM: 'usher@example.com', TRUSTED_PROXIES: '127.0.0.1' };
  const usherUrl = settings.DATABASE_URL ?? '';
  const rivalUrl = withDatabase(usherUrl, DATABASE);
  await onServer(usherUrl, (sql) => sql`create database ${sql(DATABASE)}`);

  progress('servers');
  const usher = await startServer(stack, USHER, { environment: { ...settings, ...mail }, directory });
  const ofRival = { ...settings, ...mail, DATABASE_URL: rivalUrl };
  const rival = await startServer(stack, BETTER_AUTH, { environment: ofRival, directory });
  await insertUsers(rivalUrl, fixtures, SIGNED_IN_USERS + users);

  const subjects = [
    { server: usher, databaseUrl: usherUrl, steps: createUsherSteps(fixtures) },
    { server: rival, databaseUrl: rivalUrl, steps: RIVAL_STEPS },
  ].map(({ server, databaseUrl, steps }) => {
    const meter = new Meter(stack, server, { databaseUrl, concurrency: CONCURRENCY });
    let nextUser = SIGNED_IN_USERS;
    return new Scenario({ meter, steps, count }, () => nextUser++);
  });
  progress(`${count} logins a round, ${rounds} rounds`);
  const costs = await measureRounds(subjects, { rounds, progress }, (scenario, round) => scenario.measure(round));
  report(subjects, costs);
  return true;
});

async function insertUsers(databaseUrl: string, { createdAt }: Fixtures, users: number): Promise<void> {
  await onServer(databaseUrl, async (sql) => {
    for (let first = 0; first < users; first += USERS_A_STATEMENT) {
      const rows = Array.from({ length: Math.min(USERS_A_STATEMENT, users - first) }, (_, index) => {
        const { id, name, email, profileImage: image } = userAt(first + index);
        return { id, name, email, image, emailVerified: true, createdAt, updatedAt: createdAt };
      });
      await sql`insert into public.user ${sql(rows)}`;
    }
    await sql`vacuum analyze`;
  });
}

type Costs = readonly (readonly (readonly Cost[])[])[];

function report(subjects: readonly Scenario[], costs: Costs): void {
  const percent = (values: readonly number[]) => `±${(100 * spreadOf(values)).toFixed(0)} %`;
  const describe = (name: string, rounds: readonly Cost[]) => [
    name,
    ...(['serverMicros', 'postgresMicros'] as const).flatMap((part) => {
      const values = rounds.map((cost) => cost[part]);
      return [medianOf(values).toFixed(0), percent(values)];
    }),
  ];
  const steps = subjects.flatMap((scenario, at) =>
    scenario.steps.map(({ name }, step) => describe(name, costs[at]?.flatMap((round) => round[step] ?? []) ?? [])),
  );
  const [own = [], others = []] = costs.map((rounds) => rounds.map(totalOf));
  const server = ratiosOf(
    own.map(({ serverMicros }) => serverMicros),
    others.map(({ serverMicros }) => serverMicros),
  );
  const all = ratiosOf(own.map(sumOf), others.map(sumOf));
  process.stdout.write(
    [
      layOutTable(
        ['CPU us of a login', 'server', 'rounds', 'Postgres', 'rounds'],
        [...steps, describe('Usher, in all', own), describe('better-auth, in all', others)],
      ),
      layOutTable(
        ['Usher to better-auth', 'ratio', 'rounds'],
        [
          ['server', `${medianOf(server).toFixed(2)}x`, percent(server)],
          ['server and Postgres', `${medianOf(all).toFixed(2)}x`, percent(all)],
        ],
      ),
    ].join('\n'),
  );
}

function totalOf(steps: readonly Cost[]): Cost {
  const sum = (part: keyof Cost) => steps.reduce((total, cost) => total + cost[part], 0);
  return { serverMicros: sum('serverMicros'), postgresMicros: sum('postgresMicros') };
}

function sumOf({ serverMicros, postgresMicros }: Cost): number {
  return serverMicros + postgresMicros;
}
