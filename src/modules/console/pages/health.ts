/** The health of this process, and of its connections to Postgres: what is not well, then each part, then counters. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { VERSION } from '../../../config/version.ts';
import { statement, t } from '../../../database/sql/template.ts';
import { findProxyProblem } from '../../../delivery/find-proxy-problem.ts';
import type { Call } from '../../../domain/core/call.ts';
import type { ProviderAnswer } from '../../../domain/identities/provider-names.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { type Part, problemsOf, renderPart } from '../parts/health-part.ts';
import { renderMoment } from '../parts/moment.ts';
import { renderFacts, renderPanel } from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';
import { type EndingKey, listEndingKeys } from '../statements/keys.ts';
import { listDisabledWebhooks, listFailingWebhooks, readTotals } from '../statements/overview.ts';
import { type MailTest, readMail, sendTestMail } from './health-mail.ts';
import { describeTotal } from './overview.ts';

// Equivalent: limit: the same in whole megabytes
const MEGABYTE = 1_000_000;
/** Before its end, a certificate should have been renewed. */
const RENEWED_BEFORE_MS = 7 * 24 * 60 * 60_000;

export async function showHealth(request: ConsoleRequest, test?: MailTest): Promise<ConsolePage> {
  const mail = readMail(request, test);
  const [process, postgres, webhooks, keys, ...ofModules] = await Promise.all([
    readProcess(request),
    readPostgres(request),
    readWebhooks(request),
    readKeys(request),
    ...[...request.parts.health].map((read) => read(request.call)),
  ]);
  const others = [...readProviders(request), ...ofModules];
  const problems = problemsOf([mail, process, postgres, ...others, webhooks, keys]);
  return {
    title: 'Health',
    section: 'health',
    body: html`<h1>Health</h1>
${
  problems.length === 0
    ? html`<p class="alert note">All is well.</p>`
    : html`<div class="alert">${problems.map((problem) => html`<p>${problem}</p>`)}</div>`
}
${renderPart(mail)}
<div class="two even">
${[process, postgres, ...others, webhooks].map(renderPart)}
</div>
${renderPart(keys)}
${renderPanel('counters', 'Counters', renderFacts(countersOf(request)))}
<p class="soft small">These are the figures of the replica that answered. With <code>METRICS_PORT</code>, the metrics cover all replicas, and alerts say the same.</p>`,
  };
}

export const testMail = async (request: ConsoleRequest): Promise<ConsolePage> =>
  showHealth(request, await sendTestMail(request));

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
      pending ? `Migrations: ${pending}.` : false,
    ],
    facts: [
      ['Database', html`<code>${isolate(parts.databaseName)}</code>`],
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

function readProviders({ parts }: ConsoleRequest): readonly Part[] {
  const answers = parts.providers.readAnswers();
  if (answers.length === 0) return [];
  return [
    {
      id: 'providers',
      title: 'Providers',
      problems: answers.map(
        ({ name, problem }) => problem !== undefined && html`${isolate(name)} does not answer: ${problem}.`,
      ),
      facts: answers.map(({ name, assurance, at, problem }) => {
        const factors = renderSecondFactors(assurance);
        if (!at) return [name, html`not asked since the start${factors}`];
        const answer = problem === undefined ? 'answered' : html`<span class="tag bad">no answer</span>`;
        const cause = problem !== undefined && html` <code>${problem}</code>`;
        return [name, html`${answer} ${renderMoment(at)}${cause}${factors}`];
      }),
    },
  ];
}

/** Renders what shows a second factor of the provider that counts, as LOGIN_PROVIDERS_FILE says. */
function renderSecondFactors(assurance: ProviderAnswer['assurance']): Html {
  const shown = Object.entries(assurance).flatMap(([claim, values]) =>
    Object.entries(values).map(
      ([value, level]) => html`<br><code>${claim}</code> <code>${value}</code>: ${FACTORS[level] ?? ''}`,
    ),
  );
  return shown.length > 0 ? html`${shown}` : html`<br>no second factor counts`;
}

const FACTORS: Readonly<Record<number, string>> = { 2: 'two factors', 3: 'two factors that resist phishing' };

async function readWebhooks({ call, parts }: ConsoleRequest): Promise<Part> {
  const { webhookProxyUrl } = parts.config;
  const proxy = webhookProxyUrl === undefined ? undefined : new URL(webhookProxyUrl);
  const problem = proxy && (await findProxyProblem(proxy));
  const [failing, { rows: disabled }, totals] = await Promise.all([
    listFailingWebhooks(call),
    listDisabledWebhooks(call, parts.pageTokens, { pageSize: 1 }),
    readTotals(call),
  ]).catch(() => [undefined, { rows: [] }, undefined] as const);
  return {
    id: 'hooks',
    title: 'Webhooks',
    problems: [problem !== undefined && `The proxy of webhooks cannot be reached: ${problem}.`],
    facts: [
      [
        'Proxy',
        proxy &&
          html`<code>${proxy.host}</code> ${problem === undefined ? 'reached' : html`<span class="tag bad">${problem}</span>`}`,
      ],
      ['Waiting', totals && describeTotal(totals.pending)],
      ['Failing', failing && (failing.rows.length > 0 ? html`<a href="/">some, see the overview</a>` : 'none')],
      ['Disabled by Usher', failing && (disabled.length > 0 ? html`<a href="/">some, see the overview</a>` : 'none')],
    ],
  };
}

async function readKeys({ call, parts }: ConsoleRequest): Promise<Part> {
  const { readCertificate, tokens } = parts;
  const validity = readValidity(readCertificate(), call.now);
  const ending = await listEndingKeys(call).catch(() => undefined);
  return {
    id: 'keys',
    title: 'Keys and certificates',
    problems: [
      validity?.isLate ? html`The TLS certificate ends at ${renderMoment(validity.until)} UTC.` : false,
      ending !== undefined && ending.length > 0 && html`API keys end soon: ${ending.map(renderEndingKey)}`,
    ],
    facts: [
      ['Certificate until', validity ? renderMoment(validity.until) : 'no TLS at this port'],
      ['API keys', ending?.length === 0 && 'none ends within 14 days'],
      ['Signing keys', html`${tokens.publicJwks.keys.map(({ kid, alg }) => html`<code>${kid}</code> (${alg}) `)}`],
    ],
  };
}

/** Returns until when the certificate is valid, and whether it should have been renewed before. */
export function readValidity(certificate: { readonly cert: string } | undefined, now: Date) {
  if (!certificate) return undefined;
  const until = new Date(new X509Certificate(certificate.cert).validTo);
  return { until, isLate: until.getTime() - now.getTime() < RENEWED_BEFORE_MS };
}

function renderEndingKey({ applicationId, applicationName, name, expiresAt }: EndingKey): Html {
  return html` <a href="/applications/${applicationId}/keys">${isolate(name ?? 'a key')} of ${isolate(applicationName)}</a>, ${renderMoment(expiresAt)}.`;
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
  -- Equivalent: limit: the first row is read
  select created_at from usher_migrations order by id desc limit 1`;
