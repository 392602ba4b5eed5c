import type { Route } from './route.ts';
import { routes } from './routes.ts';

/** Percent-encoded values of a path's parameters, by name. */
export type PathParameters = Readonly<Record<string, string>>;

export interface Match<Endpoint> {
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  readonly parameters: PathParameters;
}

interface Pattern<Endpoint> {
  readonly segments: readonly string[];
  /** By HTTP method. */
  readonly endpoints: Map<string, Endpoint>;
}

/** Finds the endpoints of a path. A segment of a route that begins with a colon matches any one segment. */
export class Router<Endpoint> {
  /** By what a path tells without its parameters, so that few patterns are compared. */
  readonly #patterns = new Map<string, Pattern<Endpoint>[]>();

  constructor(toEndpoint: (route: Route) => Endpoint) {
    for (const route of routes) this.#endpointsOf(route.path).set(route.method, toEndpoint(route));
  }

  /** Returns undefined for a path of no route. */
  find(path: string): Match<Endpoint> | undefined {
    const segments = path.split('/');
    for (const pattern of this.#patterns.get(keyOf(segments)) ?? []) {
      const parameters = match(pattern.segments, segments);
      if (parameters) return { endpoints: pattern.endpoints, parameters };
    }
    return undefined;
  }

  #endpointsOf(path: string): Map<string, Endpoint> {
    const segments = path.split('/');
    const key = keyOf(segments);
    const patterns = this.#patterns.get(key) ?? [];
    this.#patterns.set(key, patterns);
    const known = patterns.find((pattern) => pattern.segments.join('/') === path);
    if (known) return known.endpoints;
    const endpoints = new Map<string, Endpoint>();
    patterns.push({ segments, endpoints });
    return endpoints;
  }
}

/** The second segment after `/api` may be a parameter. */
function keyOf(segments: readonly string[]): string {
  return `${segments.length} ${segments[2]}`;
}

function match(pattern: readonly string[], segments: readonly string[]): PathParameters | undefined {
  const parameters: Record<string, string> = {};
  for (const [at, expected] of pattern.entries()) {
    const segment = segments[at] ?? '';
    if (expected.startsWith(':')) parameters[expected.slice(1)] = segment;
    else if (segment !== expected) return undefined;
  }
  return parameters;
}
