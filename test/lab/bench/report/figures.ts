/** The results of a run, a figure per cell. */
import type { Cell } from '../measure.ts';
import type { Measurement } from '../measure-load.ts';
import type { ProtocolName } from '../protocols.ts';
import type { ServerName } from '../servers.ts';
import { medianOf, ratiosOf, spreadOf } from '../statistics.ts';

/** The medians of all rounds. */
export interface Figure extends Measurement {
  readonly server: ServerName;
  readonly title: string;
  readonly protocol: ProtocolName;
  readonly call: string;
  /** How far the CPU time of a round lies from the median at most, as a share of the median. */
  readonly spread: number;
  /** The CPU time divided by that of `node:http` by hand for the same call, if that was measured. */
  readonly ratio: number | undefined;
  readonly rounds: readonly Measurement[];
}

/** Returns a figure per cell without a failure. */
export function toFigures(cells: readonly Cell[]): Figure[] {
  const measured = cells.filter(({ failure, measurements }) => failure === undefined && measurements.length > 0);
  const lowerBounds = new Map(
    measured
      .filter(({ row }) => row.server.name === 'node-http')
      .map(({ call, measurements }) => [call.name, measurements]),
  );
  return measured.map(({ row, call, measurements: rounds }) => {
    const median = (read: (round: Measurement) => number) => medianOf(rounds.map(read));
    const lowerBound = lowerBounds.get(call.name);
    return {
      server: row.server.name,
      title: row.server.title,
      protocol: row.protocol.name,
      call: call.name,
      cpuMicros: median((round) => round.cpuMicros),
      spread: spreadOf(rounds.map((round) => round.cpuMicros)),
      ratio: lowerBound && medianOf(compareCosts(rounds, lowerBound)),
      requestsPerSecond: median((round) => round.requestsPerSecond),
      p50Ms: median((round) => round.p50Ms),
      p99Ms: median((round) => round.p99Ms),
      residentBytes: median((round) => round.residentBytes),
      rounds,
    };
  });
}

/** Returns the ratio of the CPU times in each round. */
export function compareCosts(rounds: readonly Measurement[], others: readonly Measurement[]): number[] {
  const [costs = [], otherCosts = []] = [rounds, others].map((each) => each.map(({ cpuMicros }) => cpuMicros));
  return ratiosOf(costs, otherCosts);
}

/** Returns undefined if the cell failed or was not measured. */
export function findFigure(
  figures: readonly Figure[],
  server: ServerName,
  protocol: ProtocolName,
  call: string,
): Figure | undefined {
  return figures.find((figure) => figure.server === server && figure.protocol === protocol && figure.call === call);
}
