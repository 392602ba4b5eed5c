/** The limits of Usher's CPU time per request, each relative to another server of the same run. */
import type { Options } from '../options.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../protocols.ts';
import type { ServerName } from '../servers.ts';
import { medianOf, spreadOf } from '../statistics.ts';
import { compareCosts, type Figure, findFigure } from './figures.ts';

export interface GoalResult {
  readonly goal: string;
  /** The largest ratio of Usher's CPU time to that of the other server. */
  readonly limit: number;
  /** The median of the ratios in each round. Undefined, like the spread, if a figure is missing. */
  readonly measured: number | undefined;
  /** How far the ratio of a round lies from the median at most, as a share of the median. */
  readonly spread: number | undefined;
}

interface Goal {
  readonly limit: number;
  readonly call: string;
  readonly usher: ProtocolName;
  readonly other: readonly [ServerName, ProtocolName];
}

/** Returns the goals between the selected rows and calls, with what was measured. */
export function checkGoals(
  figures: readonly Figure[],
  calls: readonly string[],
  { isSelectedRow, against }: Pick<Options, 'isSelectedRow' | 'against'>,
): GoalResult[] {
  const ofCalls = [rivalGoals, ...(against === undefined ? [] : [againstGoals])];
  return ofCalls
    .flatMap((goalsOf) => calls.flatMap(goalsOf))
    .filter(({ usher, other }) => isSelectedRow('usher', usher) && isSelectedRow(...other))
    .map(({ limit, call, usher, other }) => {
      const figure = findFigure(figures, 'usher', usher, call);
      const otherFigure = findFigure(figures, ...other, call);
      const ratios = figure && otherFigure && compareCosts(figure.rounds, otherFigure.rounds);
      return {
        goal: `${call}, ${usher} to ${other.join(' ')}`,
        limit,
        measured: ratios && medianOf(ratios),
        spread: ratios && spreadOf(ratios),
      };
    });
}

/** A change makes no call dearer. */
function againstGoals(call: string): Goal[] {
  return PROTOCOL_NAMES.map((protocol) => ({ limit: 1.05, call, usher: protocol, other: ['against', protocol] }));
}

/** For the calls that the other servers have, too. */
function rivalGoals(call: string): Goal[] {
  if (call === 'CheckSession') return [];
  const byHand: Readonly<Record<string, number>> = { GetWebhook: 0.9 };
  const fastify: Readonly<Record<string, number>> = { GetWebhook: 0.7, DeleteEvent: 1.05 };
  return [
    { limit: byHand[call] ?? 1.1, call, usher: 'REST', other: ['node-http', 'REST'] },
    { limit: fastify[call] ?? 0.95, call, usher: 'REST', other: ['fastify-pg', 'REST'] },
    { limit: 1, call, usher: 'gRPC', other: ['grpc-js', 'gRPC'] },
    { limit: 0.5, call, usher: 'gRPC', other: ['connect-node', 'gRPC'] },
    { limit: 0.8, call, usher: 'Connect JSON', other: ['connect-node', 'Connect JSON'] },
    { limit: 0.8, call, usher: 'Connect binary', other: ['connect-node', 'Connect binary'] },
  ];
}
