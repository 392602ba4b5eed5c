import { type Procedure, type Procedures, requireProcedure } from '../procedures.ts';
import { createPresenter } from './present.ts';
import type { Route } from './route.ts';
import { routes } from './routes.ts';

export interface RestEndpoint {
  readonly route: Route;
  readonly procedure: Procedure;
  readonly present: ReturnType<typeof createPresenter>;
}

/** Percent-encoded values of a path's parameters, by name. */
export type PathParameters = Readonly<Record<string, string>>;

interface Pattern {
  readonly segments: readonly string[];
  /** By HTTP method. */
  readonly endpoints: ReadonlyMap<string, RestEndpoint>;
}

/** Finds the endpoints of a path. A segment of a route that begins with a colon matches any one segment. */
export class Router {
  /** By `keyOf` the path, so that `find` compares few patterns. */
  readonly #patterns: ReadonlyMap<string, readonly Pattern[]>;

  constructor(procedures: Procedures) {
    const toEndpoint = (route: Route): RestEndpoint => ({
      route,
      procedure: requireProcedure(procedures, route.rpc),
      present: createPresenter(route),
    });
    const patterns = [...Map.groupBy(routes, ({ path }) => path)].map(([path, ofPath]) => ({
      segments: path.split('/'),
      endpoints: new Map(ofPath.map((route) => [route.method, toEndpoint(route)])),
    }));
    this.#patterns = Map.groupBy(patterns, ({ segments }) => keyOf(segments));
  }

  /** Returns undefined if no route has the path. */
  find(path: string): (Pick<Pattern, 'endpoints'> & { readonly parameters: PathParameters }) | undefined {
    const segments = path.split('/');
    for (const { segments: expected, endpoints } of this.#patterns.get(keyOf(segments)) ?? []) {
      const parameters = match(expected, segments);
      if (parameters) return { endpoints, parameters };
    }
    return undefined;
  }
}

/** Uses the first segment below `/api`, which is never a parameter. */
function keyOf(segments: readonly string[]): string {
  return `${segments.length} ${segments[2]}`;
}

function match(pattern: readonly string[], segments: readonly string[]): PathParameters | undefined {
  const parameters: Record<string, string> = {};
  let at = 0;
  for (const expected of pattern) {
    const segment = segments[at++] ?? '';
    if (expected.startsWith(':')) parameters[expected.slice(1)] = segment;
    else if (segment !== expected) return undefined;
  }
  return parameters;
}
