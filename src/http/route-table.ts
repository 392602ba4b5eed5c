import type { HttpContext, PathHandler } from './http-context.ts';

/** Percent-encoded values of a path's parameters, by name. */
export type PathParameters = Readonly<Record<string, string>>;

/** A row of a table of routes. */
export interface HttpRoute {
  readonly method: string;
  /** A segment that begins with a colon is a parameter, as in `/api/webhooks/:webhookId`. An asterisk has no name. */
  readonly path: string;
  run(context: HttpContext, parameters: PathParameters): Promise<void> | void;
}

/** Serves the routes. @param refuse answers other methods of their paths, with the allowed ones in the header `Allow` */
export function serveRoutes(
  routes: readonly HttpRoute[],
  refuse: (context: HttpContext, allow: string) => void,
): PathHandler {
  const table = new RouteTable(routes);
  return async (context) => {
    const found = table.find(context.request.method, context.path);
    if (!found) return false;
    const { row, allow, parameters } = found;
    if (row) await row.run(context, parameters);
    else refuse(context, allow);
    return true;
  };
}

interface Pattern<Row> {
  readonly path: string;
  readonly rows: ReadonlyMap<string, Row>;
  /** The methods of the rows, for the header `Allow`. */
  readonly allow: string;
  readonly fixed: readonly Segment[];
  readonly parameters: readonly Segment[];
}

interface Segment {
  readonly at: number;
  readonly text: string;
}

interface FoundRoute<Row> {
  /** Undefined if no row of the path has the method. */
  readonly row: Row | undefined;
  readonly allow: string;
  readonly parameters: PathParameters;
}

/** Finds the row of a request. A path without parameters goes before one with parameters that matches, too. */
export class RouteTable<Row extends Pick<HttpRoute, 'method' | 'path'>> {
  /** Those without parameters. */
  readonly #byPath: ReadonlyMap<string, Pattern<Row>>;
  /** Those with parameters, by the number of their segments. */
  readonly #bySize: ReadonlyMap<number, readonly Pattern<Row>[]>;

  constructor(rows: readonly Row[]) {
    const patterns = [...Map.groupBy(rows, ({ path }) => path)].map(toPattern);
    const isFixed = ({ parameters }: Pattern<Row>) => parameters.length === 0;
    this.#byPath = new Map(patterns.filter(isFixed).map((pattern) => [pattern.path, pattern]));
    const others = patterns.filter((pattern) => !isFixed(pattern));
    this.#bySize = Map.groupBy(others, ({ fixed, parameters }) => fixed.length + parameters.length);
  }

  /** Returns undefined if no row has the path. A HEAD request finds the row of GET. */
  find(method: string | undefined, path: string): FoundRoute<Row> | undefined {
    const fixed = this.#byPath.get(path);
    if (fixed) return toFound(fixed, method, []);
    const segments = path.split('/');
    const pattern = this.#bySize.get(segments.length)?.find((each) => matches(each, segments));
    return pattern && toFound(pattern, method, segments);
  }
}

function toPattern<Row extends Pick<HttpRoute, 'method'>>([path, same]: [path: string, same: Row[]]): Pattern<Row> {
  const rows = new Map(same.map((row) => [row.method, row]));
  const segments = path.split('/').map((text, at) => ({ at, text }));
  const isParameter = ({ text }: Segment) => text.startsWith(':') || text === '*';
  return {
    path,
    rows,
    allow: [...rows.keys(), ...(rows.has('GET') ? ['HEAD'] : [])].join(', '),
    // The last ones differ most.
    fixed: segments.filter((segment) => !isParameter(segment)).reverse(),
    parameters: segments.filter(isParameter).map(({ at, text }) => ({ at, text: text.slice(1) })),
  };
}

function matches({ fixed }: Pattern<unknown>, segments: readonly string[]): boolean {
  for (const { at, text } of fixed) if (segments[at] !== text) return false;
  return true;
}

function toFound<Row>({ rows, allow, parameters }: Pattern<Row>, method = '', segments: string[]): FoundRoute<Row> {
  const values: Record<string, string> = {};
  for (const { at, text } of parameters) values[text] = segments[at] ?? '';
  return { row: rows.get(method === 'HEAD' ? 'GET' : method), allow, parameters: values };
}
