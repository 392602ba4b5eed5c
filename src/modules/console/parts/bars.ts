/** A bar chart over time as inline SVG. Each bar has its figure as title. The page has a table for screen readers. */
import { type Html, html } from '../../../http/html.ts';

const STEP = 10;
const WIDTH = 7;
const HEIGHT = 40;
const BASE = 44;

export interface FigureBar {
  /** When it begins. */
  readonly label: string;
  readonly count: number;
}

export interface Figure {
  readonly id: string;
  readonly title: string;
  /** The title as it is shown, if it is a text of others. */
  readonly heading?: Html;
  /** The page with what it counts. */
  readonly href?: string | undefined;
  /** How long a bar is, such as `an hour`. */
  readonly by: string;
  readonly bars: readonly FigureBar[];
  /** What stands below the last bar. */
  readonly end: string;
  readonly isTrouble: boolean;
  /** The count of a bar of full height. */
  readonly most: number;
}

export const mostOf = (bars: readonly FigureBar[]) => Math.max(1, ...bars.map(({ count }) => count));

/** Renders a figure with its sum and its bars. The last bar is the newest. */
export function renderFigure({ id, title, heading, href, by, bars, end, isTrouble, most }: Figure): Html {
  const sum = bars.reduce((total, { count }) => total + count, 0);
  const kind = isTrouble ? 'bars bad' : 'bars';
  return html`<section class="panel figure" aria-labelledby="${id}">
<h3 id="${id}">${href === undefined ? (heading ?? title) : html`<a href="${href}">${title}</a>`}</h3>
<strong>${sum.toLocaleString('en')}</strong>
<svg class="${kind}" viewBox="0 0 ${String(bars.length * STEP - (STEP - WIDTH))} 46" preserveAspectRatio="none" role="img" aria-label="${title}, ${by} per bar">
<path class="base" d="M0 45h${String(bars.length * STEP)}v1H0z"/>${renderBars(bars, most)}
</svg>
<p class="ends" aria-hidden="true"><span>${bars[0]?.label}</span><span>${end}</span></p>
</section>`;
}

function renderBars(bars: readonly FigureBar[], most: number): readonly Html[] {
  return bars.map(({ label, count }, index) => {
    const height = (count / most) * HEIGHT;
    const isLast = index === bars.length - 1;
    return html`<rect x="${String(index * STEP)}" y="${(BASE - height).toFixed(1)}" width="${String(WIDTH)}" height="${height.toFixed(1)}" rx="1.5"${isLast && html` class="now"`}><title>${label} ${String(count)}</title></rect>`;
  });
}
