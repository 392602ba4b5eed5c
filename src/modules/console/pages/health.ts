/** The health of this process, and of its connections to Postgres. */
import { X509Certificate } from 'node:crypto';
import { VERSION } from '../../../config/version.ts';
import { readMigrations } from '../../../domain/operators/read-migrations.ts';
import { type Html, html } from '../../../http/html.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { renderMoment } from '../parts/moment.ts';
import { renderFacts, renderPanel } from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';

const MEGABYTE = 1_000_000;

export async function showHealth({ call, parts }: ConsoleRequest): Promise<ConsolePage> {
  const { admissions, config, database, readCertificate, readiness, tokens } = parts;
  const isReady = await readiness.read();
  const isPrimary = await succeeds(database.ping(performance.now() + 2_000));
  const startedAt = performance.now();
  const hasClock = await succeeds(database.readTime(performance.now() + 2_000));
  const tookMs = Math.round(performance.now() - startedAt);
  const { pools, reconnects } = database.load;
  const certificate = readCertificate();
  const since = new Date(call.now.getTime() - process.uptime() * 1_000);
  const refused = Object.entries(admissions).map(([name, { load }]) => `${name}: ${load.refused}`);
  return {
    title: 'Health',
    section: 'health',
    body: html`<h1>Health</h1>
<p class="soft small">These are the figures of the replica that answered. With <code>METRICS_PORT</code>, the metrics cover all replicas.</p>
${renderPanel(
  'process',
  'Process',
  renderFacts([
    ['Version', VERSION],
    ['Ready', isReady ? 'yes' : html`<span class="tag bad">no</span>`],
    ['Started', renderMoment(since)],
    ['Node', process.version],
    ['Event loop', `${Math.round(performance.eventLoopUtilization().utilization * 100)} % busy since the start`],
    ['Memory', `${Math.round(process.memoryUsage().rss / MEGABYTE)} MB`],
    ['Refused calls', refused.join(', ')],
    ['Operators', describeOperators(parts)],
  ]),
)}
${renderPanel(
  'postgres',
  'Postgres',
  renderFacts([
    ['Answers', hasClock ? `in ${tookMs} ms` : html`<span class="tag bad">no</span>`],
    ['Schema', html`<code>${config.databaseSchema}</code>`],
    ['Takes writes', isPrimary ? 'yes' : html`<span class="tag bad">no</span>`],
    ['Migrations', await describeMigrations(call)],
    ['Replaced connections', String(reconnects)],
    [
      'Statements in flight',
      Object.entries(pools)
        .map(([name, load]) => `${name.replace('_', ' ')}: ${load.inFlight} and ${load.waiting} waiting`)
        .join(', '),
    ],
  ]),
)}
${renderPanel(
  'rest',
  'E-mail, TLS and keys',
  renderFacts([
    [
      'Mail server',
      config.smtp
        ? html`<code>${new URL(config.smtp.url).host}</code>`
        : 'none: codes appear in the terminal, or are not sent',
    ],
    [
      'Certificate until',
      certificate ? renderMoment(new Date(new X509Certificate(certificate.cert).validTo)) : 'no TLS at this port',
    ],
    ['Signing keys', html`${tokens.publicJwks.keys.map(({ kid, alg }) => html`<code>${kid}</code> (${alg}) `)}`],
  ]),
)}`,
  };
}

function describeOperators({ operators }: ConsoleRequest['parts']): Html {
  const wrong = html` <span class="tag bad">Outdated: OPERATORS_FILE could not be read, see the log</span>`;
  return html`${String(operators.size)}${!operators.isRead && wrong}`;
}

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

async function describeMigrations(call: ConsoleRequest['call']): Promise<Html | string> {
  const migrations = await readMigrations(call).catch(() => undefined);
  if (!migrations) return 'cannot be read';
  const { known, pending } = migrations;
  return pending === 0
    ? `all ${known} applied`
    : html`<span class="tag bad">${String(pending)} of ${String(known)} pending</span>`;
}
