import { parseArgs } from 'node:util';
import { CALL_NAMES } from './calls.ts';
import { readCount, selectNames, UsageError } from './command-line.ts';
import { PROTOCOL_NAMES } from './protocols.ts';
import { SERVER_NAMES } from './servers.ts';

export interface Options {
  readonly rounds: number;
  /** The number of requests in one measurement. */
  readonly requests: number;
  /** The number of requests of a cell in each pass of the warm-up. */
  readonly warmUp: number;
  /** Whether the warm-up of a server goes on until its cost no longer changes. */
  readonly isSteady: boolean;
  isSelectedCall(call: string): boolean;
  isSelectedRow(server: string, protocol: string): boolean;
  /** OpenID Connect is selected by its name, or with everything else. */
  readonly isOpenIdSelected: boolean;
  /** Whether the servers write CPU profiles, which slows them down. */
  readonly isProfiling: boolean;
  /** A checkout whose Usher is measured too. */
  readonly against: string | undefined;
}

const OPENID = 'OpenID';

/**
 * Reads the command line, which README.md describes.
 *
 * @throws UsageError for a name or a number that is none
 */
export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      rounds: { type: 'string', default: '5' },
      requests: { type: 'string', default: '3000' },
      'warm-up': { type: 'string', default: '2500' },
      steady: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      server: { type: 'string', multiple: true, default: [] },
      protocol: { type: 'string', multiple: true, default: [] },
      profile: { type: 'boolean', default: false },
      against: { type: 'string' },
    },
  });
  const { only, server, protocol, against } = values;
  const isSelected = selectNames('only', only, [...CALL_NAMES, OPENID]);
  const servers = SERVER_NAMES.filter((name) => name !== 'against' || against !== undefined);
  const isSelectedServer = selectNames('server', server, servers);
  const isSelectedProtocol = selectNames('protocol', protocol, PROTOCOL_NAMES);
  const isOpenIdNamed = only.length > 0 && isSelected(OPENID);
  const isSelectedRow = (name: string, ofRow: string) => isSelectedServer(name) && isSelectedProtocol(ofRow);
  if (isOpenIdNamed && !isSelectedRow('usher', 'REST')) throw new UsageError(`${OPENID} is of usher over REST`);
  return {
    rounds: readCount('rounds', values.rounds),
    requests: readCount('requests', values.requests),
    warmUp: readCount('warm-up', values['warm-up']),
    isSteady: values.steady,
    isSelectedCall: isSelected,
    isSelectedRow,
    isOpenIdSelected: isOpenIdNamed || only.length + server.length + protocol.length === 0,
    isProfiling: values.profile,
    against,
  };
}
