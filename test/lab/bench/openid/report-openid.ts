import type { Cost } from '../meter.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import { medianOf, ratiosOf, spreadOf } from '../statistics.ts';

/** A request of a server, with its cost in each round. */
export interface MeasuredStep {
  readonly name: string;
  readonly rounds: readonly Cost[];
}

interface Goal {
  readonly goal: string;
  readonly own: readonly string[];
  readonly others: readonly string[];
  readonly limit: number;
}

const GOALS: readonly Goal[] = [
  {
    goal: 'a code flow to the calls that do the same and a signature',
    own: ['Usher, authorize', 'Usher, CompleteLogin of OpenID', 'Usher, token by code'],
    others: ['Usher, GenerateAuthUrl', 'Usher, CompleteLogin', 'Usher, ExchangeToken', 'RS256, signature'],
    limit: 1.5,
  },
  ...['token by code', 'token by refresh token'].map((name) => ({
    goal: `${name} to oidc-provider`,
    own: [`Usher, ${name}`],
    others: [`oidc-provider, ${name}`],
    limit: 1 / 3,
  })),
  { goal: 'userinfo to CheckSession', own: ['Usher, userinfo'], others: ['Usher, CheckSession'], limit: 1.1 },
];

/** Prints what each step has cost, and the goals. */
export function reportOpenId(steps: readonly MeasuredStep[]): void {
  const cpuOf = (names: readonly string[]) => {
    const measured = steps.filter(({ name }) => names.includes(name)).map(({ rounds }) => rounds);
    return (measured[0] ?? []).map((_, round) =>
      measured.reduce((sum, rounds) => sum + (rounds[round]?.serverMicros ?? 0), 0),
    );
  };
  const percent = (values: readonly number[]) => `±${(100 * spreadOf(values)).toFixed(0)} %`;
  const costs = steps.map(({ name, rounds }) => {
    const [server, postgres] = [
      rounds.map(({ serverMicros }) => serverMicros),
      rounds.map(({ postgresMicros }) => postgresMicros),
    ];
    return [name, medianOf(server).toFixed(0), percent(server), medianOf(postgres).toFixed(0)];
  });
  const goals = GOALS.map(({ goal, own, others, limit }) => {
    const ratios = ratiosOf(cpuOf(own), cpuOf(others));
    const ratio = medianOf(ratios);
    const outcome = ratio <= limit ? 'met' : 'MISSED';
    return [goal, `${ratio.toFixed(2)}x`, percent(ratios), `${limit.toFixed(2)}x`, outcome];
  });
  process.stdout.write(
    [
      layOutTable(['OpenID Connect, CPU us of a request', 'server', 'rounds', 'Postgres'], costs),
      layOutTable(['Goal', 'measured', 'rounds', 'limit', ''], goals),
    ].join('\n'),
  );
}
