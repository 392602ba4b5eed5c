/** The types of `definitions.ts`, and functions that read samples. */
import type { Database } from '../database/pool/database.ts';
import type { Backlog } from '../delivery/backlog.ts';
import type { Recorder } from './recorder.ts';
import type { DurationSeries, LabelValues } from './series.ts';
import type { Sources } from './sources.ts';

export interface Sample {
  readonly value: number;
  readonly labels: LabelValues;
}

export interface Definition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

export interface SampledMetric extends Definition {
  readonly type: 'counter' | 'gauge';
  read(sources: Sources): Iterable<Sample> | Promise<Iterable<Sample>>;
}

export interface DurationMetric extends Definition {
  readonly type: 'histogram';
  read(recorder: Recorder): DurationSeries;
}

type Read = SampledMetric['read'];

/** Defines a metric whose value may fall. */
export function gauge(name: string, help: string, labels: readonly string[], read: Read): SampledMetric {
  return { name, type: 'gauge', help, labels, read };
}

/** Defines a metric whose value only grows. */
export function counter(name: string, help: string, labels: readonly string[], read: Read): SampledMetric {
  return { name, type: 'counter', help, labels, read };
}

/** Returns the only sample of a metric without labels. */
export function single(value: number): Sample[] {
  return [{ labels: [], value }];
}

/** Returns a sample for each entry, with the key as its label. */
export function each<Value>(values: Readonly<Record<string, Value>>, read: (value: Value) => number): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: [name], value: read(value) }));
}

export function statementsOf([client, database]: [string, Pick<Database, 'load'> | undefined]): Sample[] {
  return Object.entries(database?.load.pools ?? {}).flatMap(([pool, { inFlight, waiting }]) => [
    { labels: [client, pool, 'in_flight'], value: inFlight },
    { labels: [client, pool, 'waiting'], value: waiting },
  ]);
}

/** Returns, in seconds, how long the oldest deliveries have been due. Returns no samples if Postgres did not answer. */
export function latenessOf(backlog: Backlog | undefined, now: Date): Sample[] {
  if (!backlog) return [];
  const dueAt = { healthy: backlog.healthyDueAt, failing: backlog.failingDueAt };
  return each(dueAt, (instant) => (instant ? Math.max(0, (now.getTime() - instant.getTime()) / 1_000) : 0));
}
