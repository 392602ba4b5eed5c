/** What a scrape says. */
import { createLogger } from '../../src/log.ts';
import type { Collect } from '../../src/metrics/collect.ts';
import { openMetricsServer } from '../../src/metrics/metrics-server.ts';

/** The configuration of a service that keeps metrics. */
export const MEASURED = { metricsPort: 0 };

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Serves the metrics as main does, on a free port. */
export async function openMetrics({ collect }: { readonly collect: Collect | undefined }) {
  if (!collect) throw new Error('The service has no metrics');
  const { url, serve, close } = await openMetricsServer({ host: '127.0.0.1', port: 0, logger: createLogger('silent') });
  serve(collect);
  return { url, port: Number(new URL(url).port), [Symbol.asyncDispose]: close };
}

/** Waits until the last scrape does not count any more. */
export async function scrape({ url }: { readonly url: string }): Promise<Scrape> {
  await new Promise((resolve) => setTimeout(resolve, 1_050));
  return new Scrape(await (await fetch(url)).text());
}

export class Scrape {
  readonly text: string;
  readonly series: readonly Series[];

  constructor(text: string) {
    this.text = text;
    this.series = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [, name = '', labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
        const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', text = '']) => [label, text]);
        return { name, labels: Object.fromEntries(pairs), value: Number(value) };
      });
  }

  /** Returns the sum of the series that have the labels. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.series
      .filter((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))
      .reduce((sum, { value }) => sum + value, 0);
  }

  /** Returns the series without their values. */
  get names(): string[] {
    return this.series.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`).sort();
  }
}
