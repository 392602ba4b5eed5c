/** Every page of the console, with all that its filters can say. */
import { ROUTES } from '../../../../src/modules/console/routes.ts';
import { type Fixtures, userAt } from '../fixtures.ts';
import { FILTER_VALUES, samplesOf } from './fill-tables.ts';

const DAY_MS = 24 * 60 * 60_000;
/** As fields for a day and a time send it. */
const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 16);

export interface MeasuredPage {
  /** The path of its route, with a query. */
  readonly name: string;
  readonly path: string;
}

/** Returns all pages, filled in for the rows of `fillTables`. */
export function listPages(fixtures: Fixtures): MeasuredPage[] {
  const samples = samplesOf(fixtures);
  const filters = filtersOf(fixtures);
  // Downloads read all there is, a page at a time.
  const isPage = (path: string) => !/\.(csv|jsonl)$/.test(path);
  const pages = ROUTES.filter(({ method, role, path }) => method === 'GET' && role !== 'anyone' && isPage(path));
  return pages.flatMap(({ path }) => {
    const filled = path.replace(/:(\w)/g, (_, name: keyof typeof samples) => encodeURIComponent(samples[name]));
    return [{}, ...(filters[path] ?? [])].map((query) => {
      const search = new URLSearchParams(query).toString();
      return {
        name: `${path}${search && '?'}${decodeURIComponent(search)}`,
        path: `${filled}${search && '?'}${search}`,
      };
    });
  });
}

type Query = Record<string, string>;

function filtersOf(fixtures: Fixtures): Readonly<Record<string, readonly Query[]>> {
  const { email, walletAddress } = userAt(1);
  const of = (name: string, ...values: string[]) => ['', ...values].map((value) => (value ? { [name]: value } : {}));
  const person = [of('email', email, 'nobody@example.com'), of('wallet', walletAddress, '0x0')];
  const { a, u, w } = samplesOf(fixtures);
  const log = Object.entries(FILTER_VALUES).map(([name, values]) => of(name, ...values));
  return {
    '/search': [email, walletAddress, a, u, w, 'ada', FILTER_VALUES.resource[0], 'nothing'].map((q) => ({ q })),
    '/users': combine(of('prefix', 'ada', 'ada12', 'zzz'), ...person),
    '/audit': combine(...log, of('application', a), [{}, { since: ago(30) }, { since: ago(30), until: ago(0.01) }]),
    '/applications/:a/users': combine(...person),
    '/applications/:a/events/:e/attendees': combine(of('q', 'ada', 'ada 12', 'nobody')),
    '/applications/:a/sessions': combine(of('user', u, userAt(2).id)),
    '/applications/:a/webhooks/:w/deliveries': combine(
      of('status', 'pending', 'succeeded', 'failed'),
      of('since', ago(13), ago(0)),
    ),
  };
}

/** Returns every combination of one choice each, but for the empty one. */
function combine(...choices: readonly (readonly Query[])[]): Query[] {
  return choices
    .reduce<Query[]>((rows, next) => rows.flatMap((row) => next.map((more) => ({ ...row, ...more }))), [{}])
    .filter((query) => Object.keys(query).length > 0);
}
