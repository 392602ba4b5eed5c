/** The queries of the dashboard and the alerts, and the tools of Prometheus. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { METRICS } from '../../src/metrics/definitions.ts';
import { REPOSITORY } from './process.ts';
import { lacks } from './tools.ts';

export const METRICS_DIRECTORY = join(REPOSITORY, 'src/metrics');
export const ALERTS = join(METRICS_DIRECTORY, 'alerts.yaml');
export const ALERT_TESTS = join(METRICS_DIRECTORY, 'alerts.test.yaml');

export const SKIPS_PROMETHEUS = lacks('PROMETHEUS');

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

export interface Query {
  readonly title: string;
  readonly expr: string;
}

/** Returns the queries of the dashboard, as Grafana sends them with all jobs and instances chosen. */
export function readDashboard(): Query[] {
  const { panels }: { panels: Panel[] } = JSON.parse(readPage('dashboard.json'));
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      expr: expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)/g, '.*'),
    })),
  );
}

export function readPage(name: string): string {
  return readFileSync(join(METRICS_DIRECTORY, name), 'utf8');
}

/** Returns what looks like the name of a metric and is none, by the text where it stands. */
export function findUnknownMetrics(text: string): string[] {
  const known = new Set(METRICS.flatMap(seriesOf));
  const words = text.matchAll(/\b(?:[a-z]+_)+[a-z0-9_]+\b(?=[{[) ]|$)/gm);
  const isOfPromql = /^(histogram_quantile|label_values|max_over_time)$/;
  const labels = new Set(METRICS.flatMap((metric) => metric.labels));
  return [...words]
    .map(([word]) => word)
    .filter((word) => !known.has(word) && !labels.has(word) && !isOfPromql.test(word));
}

/** Returns the names of the series of a metric. */
export function seriesOf({ name, type }: { readonly name: string; readonly type: string }): string[] {
  return type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name];
}

/** Runs promtool. Rejects with its output if it finds fault. */
export async function promtool(args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)('promtool', args);
  // It may have ended, or need no input. Then the write fails, and its output and exit code say what matters.
  running.child.stdin?.on('error', () => {}).end(input);
  const { stdout, stderr } = await running;
  return stdout + stderr;
}
