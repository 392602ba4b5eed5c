/** How many have come to an event, and when and at which gate. A script asks for this part again and again. */

import { type Html, html } from '../../../http/html.ts';
import { isolate, withoutDirectionControls } from '../../../texts/isolate.ts';
import { MAX_ATTENDEES_COUNTED, MAX_CHECK_INS_DRAWN, type readDoorFigures } from '../statements/events.ts';
import { type FigureBar, mostOf, renderFigure } from './bars.ts';
import { column, renderRows } from './list.ts';

type DoorFigures = Awaited<ReturnType<typeof readDoorFigures>>;

const DAY_SECONDS = 24 * 60 * 60;
/** The gates with a figure of their own. */
const MAX_GATES = 5;
const OTHERS = 'Other gates';
const NO_GATE = 'No gate';

/** @param path the page that has this part alone */
export function renderDoorFigures(path: string, figures: DoorFigures, capacity: number | null): Html {
  const { checkedIn, isExact, listed, drawn } = figures;
  const places = capacity === null ? '' : ` of ${capacity.toLocaleString('en')}`;
  return html`<section data-live="${path}" class="stack" aria-labelledby="doors">
<h2 class="hide" id="doors">At the doors</h2>
<dl class="panel totals">
<div><dt>Have come</dt><dd>${count(checkedIn, isExact)}${places}</dd></div>
<div><dt>On the list</dt><dd>${count(listed, listed < MAX_ATTENDEES_COUNTED)}</dd></div>
</dl>
${drawn.length > 0 && renderGates(figures)}
</section>`;
}

const count = (number: number, isExact: boolean) => `${number.toLocaleString('en')}${isExact ? '' : ' or more'}`;

function renderGates({ drawn, barSeconds }: DoorFigures): Html {
  const step = barSeconds ?? DAY_SECONDS;
  const [first, last] = [drawn[0]?.at ?? 0, drawn.at(-1)?.at ?? 0];
  const times = Array.from({ length: (last - first) / step + 1 }, (_, index) => first + index * step);
  const gates = gatesOf(drawn);
  const barsOf = (gate: string | undefined): FigureBar[] =>
    times.map((at) => {
      const own = drawn.filter((each) => each.at === at && (gate === undefined || gates.get(each.gate) === gate));
      return { label: describeTime(at, step), count: own.reduce((sum, each) => sum + each.count, 0) };
    });
  const shown = [...new Set(gates.values())];
  const all = { title: 'All gates', heading: html`All gates`, bars: barsOf(undefined) };
  const parts =
    shown.length > 1
      ? shown.map((gate) => ({ title: gate || NO_GATE, heading: nameOf(gate), bars: barsOf(gate) }))
      : [];
  const charts = [all, ...parts];
  const sum = drawn.reduce((total, each) => total + each.count, 0);
  const range =
    sum < MAX_CHECK_INS_DRAWN ? 'All check-ins' : `The last ${MAX_CHECK_INS_DRAWN.toLocaleString('en')} check-ins`;
  return html`<p class="small soft">${range}, by the time (UTC) at which people came, ${describeStep(step)} per bar</p>
<div class="figures">
${charts.map((chart, index) => renderFigure({ ...chart, id: `gate-${index}`, by: describeStep(step), end: chart.bars.at(-1)?.label ?? '', isTrouble: false, most: mostOf(all.bars) }))}
</div>
<details class="small"><summary>The same as a table</summary>
<p class="hide" id="gates-title">Check-ins by time and gate</p>
${renderRows(
  {
    labelledBy: 'gates-title',
    columns: [
      column('From (UTC)', (index: number) => all.bars[index]?.label ?? ''),
      ...charts.map(({ title, bars }) =>
        column(withoutDirectionControls(title), (index: number) => String(bars[index]?.count ?? 0)),
      ),
    ],
    rows: times.map((_, index) => index).filter((index) => all.bars[index]?.count),
    empty: '',
  },
  'table',
)}</details>`;
}

/** Returns under which name the check-ins of each gate are drawn: its own, or that of all small ones. */
function gatesOf(drawn: DoorFigures['drawn']): ReadonlyMap<string, string> {
  const sums = new Map<string, number>();
  for (const { gate, count: each } of drawn) sums.set(gate, (sums.get(gate) ?? 0) + each);
  const bySize = [...sums].sort(([a, one], [b, other]) => other - one || a.localeCompare(b));
  const own = bySize.length > MAX_GATES + 1 ? MAX_GATES : bySize.length;
  return new Map(bySize.map(([gate], index) => [gate, index < own ? gate : OTHERS]));
}

const nameOf = (gate: string) => (gate === '' ? html`${NO_GATE}` : isolate(gate));

function describeTime(seconds: number, step: number): string {
  const iso = new Date(seconds * 1_000).toISOString();
  return step < DAY_SECONDS ? iso.slice(5, 16).replace('T', ' ') : iso.slice(0, 10);
}

function describeStep(seconds: number): string {
  const units = [
    ['day', DAY_SECONDS],
    ['hour', 3_600],
    ['minute', 60],
  ] as const;
  const [unit, length] = units.find(([, each]) => seconds >= each) ?? (['minute', 60] as const);
  const number = seconds / length;
  return number === 1 ? `a ${unit}`.replace('a hour', 'an hour') : `${number} ${unit}s`;
}
