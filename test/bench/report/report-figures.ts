/** Prints the tables and the goals, and writes the figures and the plot. */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import type { BenchCall } from '../calls.ts';
import type { Row } from '../lineup.ts';
import type { Cell } from '../measure.ts';
import type { Options } from '../options.ts';
import { drawPlot } from './draw-plot.ts';
import { type Figure, findFigure, toFigures } from './figures.ts';
import { figuresDirectory } from './figures-directory.ts';
import { judgeGoals, type Verdict } from './judge-goals.ts';
import { layOutTable } from './lay-out-table.ts';

/** Whether there is a figure for every cell. */
export async function reportFigures(
  cells: readonly Cell[],
  rows: readonly Row[],
  benchCalls: readonly BenchCall[],
  { rounds, isInvited }: Options,
): Promise<boolean> {
  const calls = benchCalls.map(({ name }) => name);
  const figures = toFigures(cells);
  const verdicts = judgeGoals(figures, calls, isInvited);
  const machine = `${cpus()[0]?.model ?? 'unknown CPU'} x ${cpus().length}, ${type()} ${release()}, Node ${process.version}`;

  const sections = [
    `CPU per request of the server process in microseconds, and its ratio to the floor; medians of ${rounds} rounds`,
    machine,
    '',
    tabulate(rows, calls, cells, (row, call) => describeCost(figures, row, call)),
    'Requests per second, p50 and p99 in ms; resident memory of the server process in MB',
    '',
    tabulate(rows, ['MB', ...calls], cells, (row, column) =>
      column === 'MB' ? describeMemory(figures, row) : describePace(figures, row, column),
    ),
    'Goals',
    '',
    layOutTable(['', 'measured', 'at most', ''], verdicts.map(describeVerdict)),
  ];
  process.stdout.write(sections.join('\n'));

  const figuresFile = join(figuresDirectory, 'figures.json');
  await mkdir(figuresDirectory, { recursive: true });
  const at = new Date().toISOString();
  const refusals = cells.flatMap(({ row, call, refusal }) =>
    refusal === undefined ? [] : [{ server: row.server.name, protocol: row.protocol.name, call: call.name, refusal }],
  );
  const report = { at, machine, memoryBytes: totalmem(), rounds, figures, refusals, goals: verdicts };
  await writeFile(figuresFile, `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(figuresDirectory, 'plot.svg'), drawPlot(figures, calls, machine));
  return refusals.length === 0;
}

function tabulate(
  rows: readonly Row[],
  columns: readonly string[],
  cells: readonly Cell[],
  describe: (row: Row, column: string) => string | undefined,
): string {
  const isRefused = (row: Row, call: string) => cells.some((cell) => cell.row === row && cell.call.name === call);
  const lines = rows.map((row) => [
    `${row.server.title}, ${row.protocol.name}`,
    ...columns.map((column) => describe(row, column) ?? (isRefused(row, column) ? 'refused' : '-')),
  ]);
  return layOutTable(['', ...columns], lines);
}

function describeCost(figures: readonly Figure[], { server, protocol }: Row, call: string): string | undefined {
  const figure = findFigure(figures, server.name, protocol.name, call);
  if (!figure) return undefined;
  const ratio = figure.ratioToFloor === undefined ? '' : `${figure.ratioToFloor.toFixed(2)}x`;
  return `${figure.cpuMicros.toFixed(1)} ${ratio.padStart(6)}`.trimEnd();
}

function describePace(figures: readonly Figure[], { server, protocol }: Row, call: string): string | undefined {
  const figure = findFigure(figures, server.name, protocol.name, call);
  if (!figure) return undefined;
  const { requestsPerSecond, p50Ms, p99Ms } = figure;
  return [requestsPerSecond.toFixed(0), p50Ms.toFixed(1).padStart(5), p99Ms.toFixed(1).padStart(5)].join(' ');
}

function describeMemory(figures: readonly Figure[], { server, protocol }: Row): string | undefined {
  const own = figures.filter((figure) => figure.server === server.name && figure.protocol === protocol.name);
  return own.length === 0 ? undefined : (Math.max(...own.map(({ residentBytes }) => residentBytes)) / 1e6).toFixed(0);
}

function describeVerdict({ goal, measured, limit, isMet }: Verdict): string[] {
  const outcome = isMet === undefined ? 'not measured' : isMet ? 'met' : 'MISSED';
  return [goal, measured === undefined ? '-' : `${measured.toFixed(2)}x`, `${limit.toFixed(2)}x`, outcome];
}
