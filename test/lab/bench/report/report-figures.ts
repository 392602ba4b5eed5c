import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import type { BenchCall } from '../calls.ts';
import type { Cell } from '../measure.ts';
import type { Options } from '../options.ts';
import type { Row, ServerSpec } from '../servers.ts';
import { FIGURES_DIRECTORY } from '../start-server.ts';
import type { WarmUp } from '../warm-up.ts';
import { checkGoals, type GoalResult } from './check-goals.ts';
import { type Figure, findFigure, toFigures } from './figures.ts';
import { layOutTable } from './lay-out-table.ts';

interface Measured {
  readonly cells: readonly Cell[];
  readonly rows: readonly Row[];
  readonly warmUps: ReadonlyMap<ServerSpec, WarmUp>;
}

/** Prints the tables and the goals, and writes the figures. Returns whether every cell has a figure. */
export async function reportFigures(
  { cells, rows, warmUps }: Measured,
  benchCalls: readonly BenchCall[],
  options: Options,
): Promise<boolean> {
  const calls = benchCalls.map(({ name }) => name);
  const figures = toFigures(cells);
  const goals = checkGoals(figures, calls, options);
  const { rounds } = options;
  const machine = `${cpus()[0]?.model ?? 'unknown CPU'} x ${cpus().length}, ${type()} ${release()}, Node ${process.version}`;

  const tabulate = (columns: readonly string[], describe: (row: Row) => readonly string[]) =>
    layOutTable(
      ['', ...columns],
      rows.map((row) => [`${row.server.title}, ${row.protocol.name}`, ...describe(row)]),
    );
  const describeCells = (row: Row, describe: (figure: Figure) => string) =>
    calls.map((call) => {
      const figure = findFigure(figures, row.server.name, row.protocol.name, call);
      if (figure) return describe(figure);
      return cells.some((cell) => cell.row === row && cell.call.name === call) ? 'failed' : '-';
    });
  const sections = [
    `CPU per request of the server process in microseconds: median of ${rounds} rounds, largest deviation of a round,`,
    'ratio to node:http by hand',
    machine,
    '',
    tabulate(calls, (row) => describeCells(row, describeCost)),
    'Requests per second, p50 and p99 in ms; resident memory of the server process in MB',
    '',
    tabulate(['MB', ...calls], (row) => [describeMemory(figures, row), ...describeCells(row, describeLoad)]),
    layOutTable(
      ['Warm-up', 'calls', ...(options.isSteady ? ['last three rounds, us', ''] : [])],
      [...warmUps].map(([server, warmUp]) => describeWarmUp(server, warmUp)),
    ),
    layOutTable(['Goal', 'measured', 'rounds', 'limit', ''], goals.map(describeGoal)),
  ];
  process.stdout.write(sections.join('\n'));

  await mkdir(FIGURES_DIRECTORY, { recursive: true });
  const failures = cells.flatMap(({ row, call, failure }) =>
    failure === undefined ? [] : [{ server: row.server.name, protocol: row.protocol.name, call: call.name, failure }],
  );
  const at = new Date().toISOString();
  const warmedUp = [...warmUps].map(([{ name: server }, warmUp]) => ({ server, ...warmUp }));
  const report = { at, machine, memoryBytes: totalmem(), rounds, warmUps: warmedUp, figures, failures, goals };
  await writeFile(join(FIGURES_DIRECTORY, 'figures.json'), `${JSON.stringify(report, null, 2)}\n`);
  return failures.length === 0;
}

function describeCost({ cpuMicros, spread, ratio }: Figure): string {
  const deviation = `±${(100 * spread).toFixed(0)} %`.padStart(6);
  const relative = ratio === undefined ? '' : `${ratio.toFixed(2)}x`;
  return `${cpuMicros.toFixed(0)} ${deviation} ${relative.padStart(6)}`.trimEnd();
}

function describeLoad({ requestsPerSecond, p50Ms, p99Ms }: Figure): string {
  return [requestsPerSecond.toFixed(0), p50Ms.toFixed(1).padStart(5), p99Ms.toFixed(1).padStart(5)].join(' ');
}

function describeMemory(figures: readonly Figure[], { server, protocol }: Row): string {
  const own = figures.filter((figure) => figure.server === server.name && figure.protocol === protocol.name);
  return own.length === 0 ? '-' : (Math.max(...own.map(({ residentBytes }) => residentBytes)) / 1e6).toFixed(0);
}

function describeGoal({ goal, limit, measured, spread = 0 }: GoalResult): string[] {
  if (measured === undefined) return [goal, '-', '', `${limit.toFixed(2)}x`, 'not measured'];
  const outcome = measured <= limit ? 'met' : 'MISSED';
  return [goal, `${measured.toFixed(2)}x`, describeSpread(spread), `${limit.toFixed(2)}x`, outcome];
}

function describeWarmUp({ title }: ServerSpec, { calls, rounds, isSteady }: WarmUp): string[] {
  if (isSteady === undefined) return [title, String(calls)];
  const last = rounds.slice(-3).map((micros) => micros.toFixed(1));
  return [title, String(calls), last.join(', '), isSteady ? 'steady' : 'NOT STEADY'];
}

function describeSpread(spread: number): string {
  return `±${(100 * spread).toFixed(0)} %`;
}
