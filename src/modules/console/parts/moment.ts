import { type Html, html } from '../../../http/html.ts';

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const DAY_AND_TIME = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone: 'UTC',
});

const WEEKDAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' });
const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'UTC' });

/** Renders an instant in UTC, to the second. The title has milliseconds and the offset. */
export function renderMoment(instant: Date | null, absent = '–'): Html {
  return instant ? renderTime(instant, DAY_AND_TIME) : html`${absent}`;
}

export function renderDay(instant: Date | null, absent = '–'): Html {
  return instant ? renderTime(instant, DAY) : html`${absent}`;
}

/** Renders a day for a heading, with its weekday. */
export function renderDate(instant: Date): Html {
  return html`<time datetime="${instant.toISOString().slice(0, 10)}">${WEEKDAY.format(instant)}</time>`;
}

export function renderTimeOfDay(instant: Date): Html {
  return renderTime(instant, TIME);
}

function renderTime(instant: Date, format: Intl.DateTimeFormat): Html {
  const iso = instant.toISOString();
  return html`<time datetime="${iso}" title="${iso.replace('T', ' ').replace('Z', ' +00:00')}">${keepTogether(format.format(instant))}</time>`;
}

/** Allows a line break only between day and time. */
function keepTogether(text: string): string {
  return text.replace(/(?<!,) /g, '\u00a0');
}
