import type { Fault } from './fault.ts';

/** What has become of a fault. It changes nothing for any test that reaches it where they all have the same value. */
export interface Verdict {
  readonly result: 'noticed' | 'survived' | 'same' | 'unreachable';
  readonly by?: string;
}

interface Row {
  readonly fault: Fault;
  readonly verdict: Verdict | undefined;
}

/** Returns the survivors by file, and last how many there are. Those with an answer beside their code do not count. */
export function formatReport(rows: readonly Row[]): string {
  const count = (of: readonly Row[], ...results: readonly (Verdict['result'] | undefined)[]) =>
    of.filter(({ verdict }) => results.includes(verdict?.result)).length;
  const answered = rows.filter(({ fault }) => fault.answer);
  const counted = rows.filter((row) => row.verdict && !answered.includes(row));
  const summarize = (of: readonly Row[]) =>
    `${count(of, 'noticed')} of ${of.length} noticed, ${count(of, 'survived', 'same')} survived, ${count(of, 'unreachable')} unreachable`;
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
  const why = verdict?.result === 'same' ? ' (no test lets it differ)' : '';
  const result = verdict?.result === 'same' ? 'survived' : verdict?.result;
  const indent = (text: string, sign: string) => text.split('\n').map((each) => `    ${sign} ${each.trim()}`);
  return [`  ${result} ${file}:${line} ${kind}${why}`, ...indent(before, '-'), ...indent(after, '+')].join('\n');
}
