/** Collects the metrics, in the format of Prometheus's client library. */
import type { MetricType } from '@prometheus-io/client';
import type { Database } from '../database/pool/database.ts';
import { DURATIONS, type DurationMetric, SAMPLED, type SampledMetric } from './definitions.ts';
import { BUCKETS, type Durations, type LabelValues } from './series.ts';
import { createBacklogReader, createDeclaredReader, type Sources } from './sources.ts';

interface Snapshot {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly values: readonly SnapshotValue[];
}

interface SnapshotValue {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  /** For a part of a histogram, the name of the metric with a suffix such as `_bucket`. */
  readonly metricName?: string;
}

export type Collect = () => Promise<Snapshot[]>;

export function createCollect(
  given: Omit<Sources, 'readBacklog' | 'readDeclared'> & { databases: { calls: Database } },
): Collect {
  const { calls } = given.databases;
  const sources = { ...given, readBacklog: createBacklogReader(calls), readDeclared: createDeclaredReader(calls) };
  return async () => {
    const snapshots = await Promise.all(SAMPLED.map((metric) => readSampled(metric, sources)));
    sources.recorder.eventLoopDelay.reset();
    return [...DURATIONS.map((metric) => readDurations(metric, sources)), ...snapshots];
  };
}

async function readSampled({ read, labels, ...metric }: SampledMetric, sources: Sources): Promise<Snapshot> {
  const samples = [...(await read(sources))];
  return {
    ...describe(metric),
    values: samples.map(({ value, labels: given }) => ({ value, labels: toObject(labels, given) })),
  };
}

function readDurations({ read, labels, ...metric }: DurationMetric, { recorder }: Sources): Snapshot {
  const values = [...read(recorder)].flatMap((series) =>
    toHistogram(metric.name, toObject(labels, series.labels), series.value),
  );
  return { ...describe(metric), values };
}

function describe({ name, help, type }: Omit<Snapshot, 'values'>): Omit<Snapshot, 'values'> {
  return { name, help, type };
}

function toHistogram(name: string, labels: Readonly<Record<string, string>>, { counts, sum }: Durations) {
  let count = 0;
  const buckets = counts.map((inBucket, index) => {
    count += inBucket;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(BUCKETS[index] ?? '+Inf') }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

function toObject(names: readonly string[], values: LabelValues): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}
