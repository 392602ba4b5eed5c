/** The health of this process, and of its connections to Postgres: what is not well, then each part, then counters. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { VERSION } from '../../../config/version.ts';
import { statement, t } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import { type Html, html } from '../../../http/html.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { renderMoment } from '../parts/moment.ts';
import { renderFacts, renderPanel } from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';

const MEGABYTE = 1_000_000;
/** Before its end, a certificate should have been renewed. */
const RENEWED_BEFORE_MS = 7 * 24 * 60 * 60_000;

interface Part {
  readonly id: string;
  readonly title: string;
  /** What is not well, in whole sentences. */
  readonly problems: readonly (string | false)[];
  readonly facts: Parameters<typeof renderFacts>[0];
}

export async function showHealth(request: ConsoleRequest): Promise<ConsolePage> {
  const parts = [await readProcess(request), await readPostgres(request), readKeys(request)];
  const problems = parts.flatMap((part) => part.problems.filter((problem) => problem !== false));
  return {
    title: 'Health',
    section: 'health',
    body: html`<h1>Health</h1>
${
  problems.length === 0
    ? html`<p class="alert note">All is well.</p>`
    : html`<div class="alert">${problems.map((problem) => html`<p>${problem}</p>`)}</div>`
}
${parts.map(renderPart)}
${renderPanel('counters', 'Counters', renderFacts(countersOf(request)))}
<p class="soft small">These are the figures of the replica that answered. With <code>METRICS_PORT</code>, the metrics cover all replicas.</p>`,
  };
}

function renderPart({ id, title, problems, facts }: Part): Html {
  const isWell = problems.every((problem) => problem === false);
  const badge = html`<span class="tag ${isWell ? 'good' : 'bad'}">${isWell ? 'Well' : 'Not well'}</span>`;
  return renderPanel(id, title, renderFacts(facts), badge);
}

async function readProcess({ call, parts }: ConsoleRequest): Promise<Part> {
  const { operators, readiness } = parts;
  const isReady = await readiness.read();
  const since = new Date(call.now.getTime() - process.uptime() * 1_000);
  const outdated = 'OPERATORS_FILE could not be read, see the log';
  return {
    id: 'process',
    title: 'Process',
    problems: [!isReady && 'This replica is not ready.', !operators.isRead && `${outdated}.`],
    facts: [
      ['Version', VERSION],
      ['Ready', isReady ? 'yes' : BAD_NO],
      ['Started', renderMoment(since)],
      ['Node', process.version],
      [
        'Operators',
        html`${String(operators.size)}${!operators.isRead && html` <span class="tag bad">Outdated: ${outdated}</span>`}`,
      ],
    ],
  };
}

const BAD_NO = html`<span class="tag bad">no</span>`;

async function readPostgres({ call, parts }: ConsoleRequest): Promise<Part> {
  const { config, database } = parts;
  const isPrimary = await succeeds(database.ping(performance.now() + 2_000));
  const startedAt = performance.now();
  const hasClock = await succeeds(database.readTime(performance.now() + 2_000));
  const tookMs = Math.round(performance.now() - startedAt);
  const migrations = await readMigrations(call).catch(() => undefined);
  const pending = migrations && migrations.pending > 0 && `${migrations.pending} of ${migrations.known} pending`;
  return {
    id: 'postgres',
    title: 'Postgres',
    problems: [
      !hasClock && 'Postgres does not answer.',
      !isPrimary && 'Postgres takes no writes.',
      !migrations && 'The migrations cannot be read.',
      pending !== undefined && pending !== false && `Migrations: ${pending}.`,
    ],
    facts: [
      ['Answers', hasClock ? `in ${tookMs} ms` : BAD_NO],
      ['Takes writes', isPrimary ? 'yes' : BAD_NO],
      ['Schema', html`<code>${config.databaseSchema}</code>`],
      [
        'Migrations',
        pending
          ? html`<span class="tag bad">${pending}</span>`
          : migrations
            ? `all ${migrations.known} applied`
            : 'cannot be read',
      ],
    ],
  };
}

function readKeys({ call, parts }: ConsoleRequest): Part {
  const { config, readCertificate, tokens } = parts;
  const certificate = readCertificate();
  const until = certificate && new Date(new X509Certificate(certificate.cert).validTo);
  const isLate = until !== undefined && until.getTime() - call.now.getTime() < RENEWED_BEFORE_MS;
  return {
    id: 'rest',
    title: 'E-mail, TLS and keys',
    problems: [isLate && `The TLS certificate ends at ${until.toISOString().slice(0, 16).replace('T', ' ')} UTC.`],
    facts: [
      [
        'Mail server',
        config.smtp
          ? html`<code>${new URL(config.smtp.url).host}</code>`
          : 'none: codes appear in the terminal, or are not sent',
      ],
      ['Certificate until', until ? renderMoment(until) : 'no TLS at this port'],
      ['Signing keys', html`${tokens.publicJwks.keys.map(({ kid, alg }) => html`<code>${kid}</code> (${alg}) `)}`],
    ],
  };
}

function countersOf({ parts }: ConsoleRequest): Part['facts'] {
  const { admissions, database } = parts;
  const { pools, reconnects } = database.load;
  return [
    ['Event loop', `${Math.round(performance.eventLoopUtilization().utilization * 100)} % busy since the start`],
    ['Memory', `${Math.round(process.memoryUsage().rss / MEGABYTE)} MB`],
    ['Refused calls', describeAll(admissions, ({ load }) => String(load.refused))],
    ['Statements in flight', describeAll(pools, ({ inFlight, waiting }) => `${inFlight} and ${waiting} waiting`)],
    ['Replaced connections', String(reconnects)],
  ];
}

function describeAll<Value>(values: Readonly<Record<string, Value>>, describe: (value: Value) => string): string {
  return Object.entries(values)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${describe(value)}`)
    .join(', ');
}

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

const JOURNAL = new URL('../../../../drizzle/meta/_journal.json', import.meta.url);

/** Returns how many migrations this version has, and how many of them the database lacks. */
async function readMigrations({ run }: Pick<Call, 'run'>): Promise<{ known: number; pending: number }> {
  const { entries }: { entries: { when: number }[] } = JSON.parse(await readFile(JOURNAL, 'utf8'));
  const [last] = await run(selectLastMigration, {});
  const pending = entries.filter(({ when }) => when > Number(last?.createdAt ?? -1)).length;
  return { known: entries.length, pending };
}

const selectLastMigration = statement('select_last_migration', { createdAt: t.bigint })`
  select created_at from usher_migrations order by id desc limit 1`;
