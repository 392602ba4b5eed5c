import { parseArgs } from 'node:util';

export interface Options {
  readonly rounds: number;
  /** The most requests of one measurement. */
  readonly requests: number;
  /** Whether the call of this name is to be measured. */
  isWanted(call: string): boolean;
  /** Whether the server of this name is to be measured over this protocol. */
  isInvited(server: string, protocol: string): boolean;
  /** Whether the servers are to write CPU profiles, which slows them down. */
  readonly isProfiling: boolean;
}

/**
 * From the command line: `--rounds 4`, `--requests 10000`, `--only GetWebhook`, `--server usher`,
 * `--protocol gRPC`, `--profile`. Names may be several, are matched by their beginning, in any case;
 * no name means every one.
 */
export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      rounds: { type: 'string', default: '4' },
      requests: { type: 'string', default: '10000' },
      only: { type: 'string', multiple: true, default: [] },
      server: { type: 'string', multiple: true, default: [] },
      protocol: { type: 'string', multiple: true, default: [] },
      profile: { type: 'boolean', default: false },
    },
  });
  return {
    rounds: readCount('rounds', values.rounds),
    requests: readCount('requests', values.requests),
    isWanted: (call) => isNamed(call, values.only),
    isInvited: (server, protocol) => isNamed(server, values.server) && isNamed(protocol, values.protocol),
    isProfiling: values.profile,
  };
}

function readCount(name: string, text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`--${name} must be a whole number above 0`);
  return count;
}

function isNamed(name: string, beginnings: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return beginnings.length === 0 || beginnings.some((beginning) => lower.startsWith(beginning.toLowerCase()));
}
