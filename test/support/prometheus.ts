/** A real Prometheus, of Debian's package `prometheus`, that scrapes what a test tells it to. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { createDirectory } from './directory.ts';
import { findFreePort } from './free-port.ts';
import { METRICS_DIRECTORY, readPage } from './metric-documents.ts';

export class Prometheus {
  readonly #url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.#url = url;
    this.#close = close;
  }

  /** Scrapes the target, such as `127.0.0.1:9464`, once a second. */
  static async start(target: string): Promise<Prometheus> {
    const directory = await createDirectory();
    const { scrape_configs: jobs, ...settings } = parse(readPage('prometheus.yaml'));
    const config = {
      ...settings,
      global: { evaluation_interval: '1s' },
      scrape_configs: [
        { ...jobs[0], scrape_interval: '1s', scrape_timeout: '1s', static_configs: [{ targets: [target] }] },
      ],
      rule_files: settings.rule_files.map((name: string) => join(METRICS_DIRECTORY, name)),
    };
    await writeFile(join(directory, 'prometheus.yml'), JSON.stringify(config));
    const port = await findFreePort();
    const args = [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${directory}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    const child = spawn('prometheus', args, { stdio: 'ignore' });
    const exited = once(child, 'exit');
    const prometheus = new Prometheus(`http://127.0.0.1:${port}`, async () => {
      child.kill('SIGKILL');
      await exited;
    });
    await expect.poll(() => prometheus.#get('/-/ready')).toContain('Ready');
    return prometheus;
  }

  /** Returns the values of a query now. */
  async query(expr: string): Promise<{ readonly metric: Record<string, string>; readonly value: number }[]> {
    const { status, data, error } = JSON.parse(
      await this.#get(`/api/v1/query?${new URLSearchParams({ query: expr })}`),
    );
    if (status !== 'success') throw new Error(`${error}: ${expr}`);
    return data.result.map(
      ({ metric, value: [, value] }: { metric: Record<string, string>; value: [number, string] }) => ({
        metric,
        value: Number(value),
      }),
    );
  }

  /** Returns the names of its rules that cannot be evaluated. */
  async failedRules(): Promise<string[]> {
    const { data } = JSON.parse(await this.#get('/api/v1/rules'));
    const rules: { name: string; health: string }[] = data.groups.flatMap(({ rules }: { rules: unknown }) => rules);
    return rules.filter(({ health }) => health !== 'ok').map(({ name }) => name);
  }

  readonly [Symbol.asyncDispose] = (): Promise<void> => this.#close();

  async #get(path: string): Promise<string> {
    const response = await fetch(this.#url + path).catch(() => undefined);
    return response ? await response.text() : '';
  }
}
