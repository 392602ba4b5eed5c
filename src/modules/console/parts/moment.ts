import { readIsoInstant } from '../../../encoding/instants.ts';
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

export function renderDay(instant: Date | null): Html {
  return instant ? renderTime(instant, DAY) : html`–`;
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
  const year = instant.getUTCFullYear();
  // Without its zeros, the year 26 reads like 2026.
  const text = format.format(instant).replace(` ${year}`, ` ${iso.slice(0, 4)}`);
  return html`<time datetime="${iso}" title="${iso.replace('T', ' ').replace('Z', ' +00:00')}">${keepTogether(text)}</time>`;
}

/** Allows a line break only between day and time. */
function keepTogether(text: string): string {
  return text.replace(/(?<!,) /g, '\u00a0');
}

/** An example of what `parseInstant` reads, in the form of `renderMoment`. */
export const INSTANT_EXAMPLE = '26 Nov 2026, 14:30';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const TIME_OF_DAY = String.raw`(?:[T, ]+(?<hour>\d\d?):(?<minute>\d\d)(?::(?<second>\d\d))?)?`;
const FORMS = [
  new RegExp(String.raw`^(?<day>\d\d?) (?<name>[a-z]{3})[a-z]* (?<year>\d{4})${TIME_OF_DAY}$`, 'i'),
  new RegExp(String.raw`^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)${TIME_OF_DAY}Z?$`),
];

/**
 * Returns the instant that a person has typed, in UTC and in the format of the API. Without a time it is midnight.
 * Undefined if the text is no instant.
 */
export function parseInstant(text: string): string | undefined {
  // The spaces of a moment that was copied from a page do not break.
  const groups = FORMS.map((form) => form.exec(text.replace(/\s+/g, ' ').trim())?.groups).find(Boolean);
  if (!groups) return undefined;
  const { year, month, name = '', day = '', hour = 0, minute = 0, second = 0 } = groups;
  const of = (part: string | number) => String(part).padStart(2, '0');
  const date = [year, of(month ?? MONTHS.indexOf(name.toLowerCase()) + 1), of(day)].join('-');
  const iso = `${date}T${[hour, minute, second].map(of).join(':')}Z`;
  return readIsoInstant(iso) && iso;
}
