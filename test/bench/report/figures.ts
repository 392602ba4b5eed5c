/** The medians of what was measured. */
import type { ServerName } from '../lineup.ts';
import type { Cell } from '../measure.ts';
import type { Measurement } from '../measure-load.ts';
import { medianOf } from '../median.ts';
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
      .map(({ call, measurements }) => [call.name, medianOf(measurements.map(({ cpuMicros }) => cpuMicros))]),
  );
  return measured.map(({ row, call, measurements }) => {
    const cpuMicros = medianOf(measurements.map(({ cpuMicros }) => cpuMicros));
    const floor = floors.get(call.name);
    return {
      server: row.server.name,
      title: row.server.title,
      protocol: row.protocol.name,
      call: call.name,
      cpuMicros,
      ratioToFloor: floor && cpuMicros / floor,
      requestsPerSecond: medianOf(measurements.map(({ requestsPerSecond }) => requestsPerSecond)),
      p50Ms: medianOf(measurements.map(({ p50Ms }) => p50Ms)),
      p99Ms: medianOf(measurements.map(({ p99Ms }) => p99Ms)),
      residentBytes: medianOf(measurements.map(({ residentBytes }) => residentBytes)),
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
