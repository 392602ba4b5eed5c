/** The rows of the table of routes, and how a request finds its row. */

import type { Role } from '../../config/operators.ts';
import type { Html } from '../../http/html.ts';
import type { PathParameters, RouteTable } from '../../http/route-table.ts';
import type { ConsoleRequest } from './console-request.ts';
import { includesRole, type SignedInOperator } from './signed-in-operator.ts';

export type Section = 'overview' | 'users' | 'groups' | 'applications' | 'audit' | 'health';

export interface ConsolePage {
  readonly title: string;
  readonly section?: Section;
  readonly body: Html;
  readonly status?: number;
}

/** A page, a redirect to a path, or `sent` if the handler has sent the response itself. */
export type Reply = ConsolePage | { readonly redirect: string } | 'sent';

type Run = (request: ConsoleRequest) => Promise<Reply>;
type ShowForm = (request: ConsoleRequest) => Promise<ConsolePage>;

export interface ConsoleRoute {
  readonly method: 'GET' | 'POST';
  /** `:a` stands for the ID of an application, and so on. */
  readonly path: string;
  /** The lowest role that may use the route. `anyone` needs no session: the routes of the sign-in. */
  readonly role: Exclude<Role, 'team'> | 'anyone';
  /** Whether the route needs a sign-in of the last 15 minutes. */
  readonly isSensitive?: true;
  /** Whether only operators may use the route who may make recovery links. */
  readonly needsRecover?: true;
  /** Whether a team may use the route although its path names no application. */
  readonly isForTeams?: true;
  /** Whether the form may contain a file. */
  readonly takesFile?: true;
  /** Whether the form may contain a list, which is longer than other forms. */
  readonly takesList?: true;
  readonly run: Run;
  /** Renders the page of the form, for a form that was refused. */
  readonly showForm?: ShowForm | undefined;
}

type Options = Pick<ConsoleRoute, 'isSensitive' | 'needsRecover' | 'isForTeams' | 'takesFile' | 'takesList'>;

export function get(role: ConsoleRoute['role'], path: string, run: Run, options: Options = {}): ConsoleRoute {
  return { method: 'GET', path, role, run, ...options };
}

export function post(role: ConsoleRoute['role'], path: string, run: Run, showForm?: ShowForm, options: Options = {}) {
  return { method: 'POST', path, role, run, showForm, ...options } as const;
}

/** Returns two routes with the same path: the page with the form, and the handler of the form. */
export function getAndPost(role: ConsoleRoute['role'], path: string, show: ShowForm, run: Run, options: Options = {}) {
  return [get(role, path, show, options), post(role, path, run, show, options)];
}

export interface FoundRoute {
  readonly route: ConsoleRoute;
  readonly params: PathParameters;
}

export function findRoute(
  table: RouteTable<ConsoleRoute>,
  method: string | undefined,
  path: string,
): FoundRoute | undefined {
  const { row: route, parameters = {} } = table.find(method, path) ?? {};
  const params = route && decodeParameters(parameters);
  return params && { route, params };
}

/** Returns whether the operator may use the route. A team has the rights of support in its own applications. */
export function mayUse({ route, params }: FoundRoute, { role, applicationIds, mayRecover }: SignedInOperator): boolean {
  if (route.role === 'anyone') return true;
  if (route.needsRecover && !mayRecover) return false;
  if (!includesRole(role, route.role)) return false;
  if (role !== 'team' || route.isForTeams) return true;
  return params.a !== undefined && applicationIds.includes(params.a.toLowerCase());
}

/** Returns undefined if a value is empty, or is not percent-encoded UTF-8. */
function decodeParameters(parameters: PathParameters): PathParameters | undefined {
  try {
    const decoded = Object.entries(parameters).map(([name, value]) => [name, decodeURIComponent(value)]);
    return decoded.some(([, value]) => !value) ? undefined : Object.fromEntries(decoded);
  } catch {
    return undefined;
  }
}
