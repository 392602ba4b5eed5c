import type { Fault } from './fault.ts';

/** What has become of a fault. */
export interface Verdict {
  readonly result: 'noticed' | 'survived' | 'unreachable';
  readonly ms: number;
  readonly by?: string;
  /** How many test files reach it and have not run, because those before have taken too long. */
  readonly left?: number;
}

interface Row {
  readonly fault: Fault;
  readonly verdict: Verdict | undefined;
}

/** Returns the survivors by file, and last how many there are. Those with an answer beside their code do not count. */
export function formatReport(rows: readonly Row[]): string {
  const count = (of: readonly Row[], result: Verdict['result']) =>
    of.filter(({ verdict }) => verdict?.result === result).length;
  const answered = rows.filter(({ fault, verdict }) => fault.answer && verdict?.result !== 'noticed');
  const counted = rows.filter((row) => row.verdict && !answered.includes(row));
  const summarize = (of: readonly Row[]) =>
    `${count(of, 'noticed')} of ${of.length} noticed, ${count(of, 'survived')} survived, ${count(of, 'unreachable')} unreachable`;
  const byFile = Map.groupBy(counted, ({ fault }) => fault.file);
  const parts = [...byFile].map(([file, of]) => {
    const others = of.filter(({ verdict }) => verdict?.result !== 'noticed');
    return [`${file}: ${summarize(of)}`, ...others.map(describe)].join('\n');
  });
  const answers = answered.map(({ fault: { file, line, kind, answer } }) => `  ${file}:${line} ${kind}: ${answer}`);
  const tail = answers.length > 0 ? [`${answers.length} answered beside the code:`, ...answers, ''] : [];
  return [...parts, '', ...tail, summarize(counted)].join('\n');
}

function describe({ fault: { file, line, kind, before, after }, verdict }: Row): string {
  const left = verdict?.left ? ` (${verdict.left} more test files reach it)` : '';
  const indent = (text: string, sign: string) => text.split('\n').map((each) => `    ${sign} ${each.trim()}`);
  return [`  ${verdict?.result} ${file}:${line} ${kind}${left}`, ...indent(before, '-'), ...indent(after, '+')].join(
    '\n',
  );
}
