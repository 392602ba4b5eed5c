/** The medians of what was measured. */
import type { ServerName } from '../lineup.ts';
import type { Cell, Measurement } from '../measure.ts';
import type { ProtocolName } from '../protocols/protocol.ts';

export interface Figure extends Measurement {
  readonly server: ServerName;
  readonly title: string;
  readonly protocol: ProtocolName;
  readonly call: string;
  /** CPU per request against the floor's for the same call; undefined where that was not measured. */
  readonly ratioToFloor: number | undefined;
}

/** One figure per cell that has not been refused. */
export function toFigures(cells: readonly Cell[]): Figure[] {
  const measured = cells.filter(({ refusal, measurements }) => refusal === undefined && measurements.length > 0);
  const floors = new Map(
    measured
      .filter(({ row }) => row.server.name === 'floor')
      .map(({ call, measurements }) => [call.name, medianOf(measurements, 'cpuMicros')]),
  );
  return measured.map(({ row, call, measurements }) => {
    const cpuMicros = medianOf(measurements, 'cpuMicros');
    const floor = floors.get(call.name);
    return {
      server: row.server.name,
      title: row.server.title,
      protocol: row.protocol.name,
      call: call.name,
      cpuMicros,
      ratioToFloor: floor && cpuMicros / floor,
      requestsPerSecond: medianOf(measurements, 'requestsPerSecond'),
      p50Ms: medianOf(measurements, 'p50Ms'),
      p99Ms: medianOf(measurements, 'p99Ms'),
      residentBytes: medianOf(measurements, 'residentBytes'),
    };
  });
}

/** Undefined where the cell was refused or not measured. */
export function findFigure(
  figures: readonly Figure[],
  server: ServerName,
  protocol: ProtocolName,
  call: string,
): Figure | undefined {
  return figures.find((figure) => figure.server === server && figure.protocol === protocol && figure.call === call);
}

function medianOf(measurements: readonly Measurement[], what: keyof Measurement): number {
  const ascending = measurements.map((measurement) => measurement[what]).sort((one, other) => one - other);
  const middle = ascending.length >> 1;
  const [low, high] = [ascending[ascending.length % 2 === 0 ? middle - 1 : middle], ascending[middle]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}
