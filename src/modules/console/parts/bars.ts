/** A bar chart of 24 hours as inline SVG. Each bar has its figure as title. The page has a table for screen readers. */
import { type Html, html } from '../../../http/html.ts';

const STEP = 10;
const WIDTH = 7;
const HEIGHT = 40;
const BASE = 44;

export interface HourlyFigure {
  readonly hour: Date;
  readonly count: number;
}

export interface Figure {
  readonly id: string;
  readonly title: string;
  readonly hours: readonly HourlyFigure[];
  readonly isTrouble: boolean;
  /** The count of a bar of full height. */
  readonly most: number;
}

export const mostOf = (hours: readonly HourlyFigure[]) => Math.max(1, ...hours.map(({ count }) => count));

/** Renders a figure with its sum and its bars. The last bar is the current hour. */
export function renderFigure({ id, title, hours: figures, isTrouble, most }: Figure): Html {
  const sum = figures.reduce((total, { count }) => total + count, 0);
  const kind = isTrouble ? 'bars bad' : 'bars';
  return html`<section class="panel figure" aria-labelledby="${id}">
<h3 id="${id}">${title}</h3>
<strong>${sum.toLocaleString('en')}</strong>
<svg class="${kind}" viewBox="0 0 ${String(figures.length * STEP - (STEP - WIDTH))} 46" preserveAspectRatio="none" role="img" aria-label="${title}, by hour">
<path class="base" d="M0 45h${String(figures.length * STEP)}v1H0z"/>${renderBars(figures, most)}
</svg>
<p class="ends" aria-hidden="true"><span>${timeOf(figures[0])}</span><span>now</span></p>
</section>`;
}

function renderBars(figures: readonly HourlyFigure[], most: number): readonly Html[] {
  return figures.map((figure, index) => {
    const height = (figure.count / most) * HEIGHT;
    const isLast = index === figures.length - 1;
    return html`<rect x="${String(index * STEP)}" y="${(BASE - height).toFixed(1)}" width="${String(WIDTH)}" height="${height.toFixed(1)}" rx="1.5"${isLast && html` class="now"`}><title>${timeOf(figure)} ${String(figure.count)}</title></rect>`;
  });
}

export function timeOf(figure: Pick<HourlyFigure, 'hour'> | undefined): string {
  return figure ? figure.hour.toISOString().slice(11, 16) : '';
}
