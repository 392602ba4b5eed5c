/** The goals that one run can tell of, numbered as in the plan. All are of CPU per request. */
import type { ServerName } from '../lineup.ts';
import type { ProtocolName } from '../protocols/protocol.ts';
import { type Figure, findFigure } from './figures.ts';

export interface Verdict {
  readonly goal: string;
  /** The most that Usher's cost may be of the other's. */
  readonly limit: number;
  /** Undefined where a figure is missing. */
  readonly measured: number | undefined;
  readonly isMet: boolean | undefined;
}

interface Goal {
  readonly number: number;
  readonly limit: number;
  readonly call: string;
  readonly usher: ProtocolName;
  readonly other: readonly [ServerName, ProtocolName];
}

/** Only of the goals between rows and calls that were to be measured. */
export function judgeGoals(
  figures: readonly Figure[],
  calls: readonly string[],
  isInvited: (server: string, protocol: string) => boolean,
): Verdict[] {
  return [...webhookGoals(), ...connectGoals(calls), ...writeGoals(calls)]
    .filter(
      ({ call, usher, other }) => calls.includes(call) && isInvited('usher', usher) && isInvited(other[0], other[1]),
    )
    .map(({ number, limit, call, usher, other }) => {
      const cost = findFigure(figures, 'usher', usher, call)?.cpuMicros;
      const otherCost = findFigure(figures, ...other, call)?.cpuMicros;
      const measured = cost === undefined || otherCost === undefined ? undefined : cost / otherCost;
      const isMet = measured === undefined ? undefined : measured <= limit;
      return { goal: `${number}. ${usher} ${call} to ${other.join(' ')}`, limit, measured, isMet };
    });
}

function webhookGoals(): Goal[] {
  const call = 'GetWebhook';
  return [
    { number: 1, limit: 1.15, call, usher: 'REST', other: ['floor', 'REST'] },
    { number: 1, limit: 1, call, usher: 'REST', other: ['fastify-pg', 'REST'] },
    { number: 1, limit: 1 / 3, call, usher: 'REST', other: ['fastify-drizzle', 'REST'] },
    { number: 2, limit: 0.7, call, usher: 'gRPC', other: ['grpc-js', 'gRPC'] },
    { number: 2, limit: 0.4, call, usher: 'gRPC', other: ['connect-node', 'gRPC'] },
  ];
}

function connectGoals(calls: readonly string[]): Goal[] {
  return (['Connect JSON', 'Connect binary'] as const).flatMap((protocol) =>
    calls.map((call): Goal => ({ number: 3, limit: 1, call, usher: protocol, other: ['connect-node', protocol] })),
  );
}

/** Usher has check-ins as an RPC only: what is nearest to the floor's JSON over HTTP/1.1 is Connect's. */
function writeGoals(calls: readonly string[]): Goal[] {
  return calls
    .filter((call) => call !== 'GetWebhook')
    .map((call) => {
      const usher = call === 'CheckIn' ? 'Connect JSON' : 'REST';
      return { number: 4, limit: 1.25, call, usher, other: ['floor', 'REST'] };
    });
}
