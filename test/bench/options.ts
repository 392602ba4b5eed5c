import { parseArgs } from 'node:util';

export interface Options {
  readonly rounds: number;
  /** The number of requests in one measurement. */
  readonly requests: number;
  /** The number of requests of a cell in each pass of the warm-up. */
  readonly warmUp: number;
  isSelectedCall(call: string): boolean;
  isSelectedRow(server: string, protocol: string): boolean;
  /** Whether the servers write CPU profiles, which slows them down. */
  readonly isProfiling: boolean;
  /** A checkout whose Usher is measured too. */
  readonly against: string | undefined;
}

/** Reads the command line, which README.md describes. */
export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      rounds: { type: 'string', default: '5' },
      requests: { type: 'string', default: '3000' },
      'warm-up': { type: 'string', default: '2500' },
      only: { type: 'string', multiple: true, default: [] },
      server: { type: 'string', multiple: true, default: [] },
      protocol: { type: 'string', multiple: true, default: [] },
      profile: { type: 'boolean', default: false },
      against: { type: 'string' },
    },
  });
  return {
    rounds: readCount('rounds', values.rounds),
    requests: readCount('requests', values.requests),
    warmUp: readCount('warm-up', values['warm-up']),
    isSelectedCall: (call) => isSelected(call, values.only),
    isSelectedRow: (server, protocol) => isSelected(server, values.server) && isSelected(protocol, values.protocol),
    isProfiling: values.profile,
    against: values.against,
  };
}

function readCount(name: string, text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`--${name} must be a whole number above 0`);
  return count;
}

/** Names match by their beginning, in any case. No name selects everything. */
function isSelected(name: string, selected: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return selected.length === 0 || selected.some((prefix) => lower.startsWith(prefix.toLowerCase()));
}
