/** The texts of pages and e-mails, in every language of `catalogues`. */
import { readdirSync, readFileSync } from 'node:fs';
import { Html, html } from '../http/html.ts';
import type english from './catalogues/en.json';
import { isolate, withoutDirectionControls } from './isolate.ts';

/** The name of a text. Names with `@` describe the catalogue. */
export type TextKey = Exclude<keyof typeof english, `@${string}`>;

/** `@name` is the language's name for itself. `@status` says whether a speaker has reviewed the texts. */
export type Catalogue = Readonly<Record<keyof typeof english, string>>;

/** Values by the names of their placeholders: `name` replaces `{name}`. */
type TextValues<Value> = Readonly<Record<string, Value>>;

export interface Language {
  /** The BCP 47 tag, such as `pt-BR`. */
  readonly tag: string;
  /** The language's name for itself, such as `Deutsch`. */
  readonly name: string;
  readonly direction: 'ltr' | 'rtl';
  /** Returns plain text, for titles, attributes and e-mails. Each string stands between U+2068 and U+2069. */
  text(key: TextKey, values?: TextValues<string | number>): string;
  /** Returns HTML. Each string stands in `<bdi>`; the caller isolates values that are HTML. */
  html(key: TextKey, values?: TextValues<string | Html>): Html;
  /** Returns a number with its unit, such as `10 minutes`. Texts use it after a label: `Valid for: {duration}`. */
  duration(count: number, unit: 'second' | 'minute' | 'hour' | 'day'): string;
  /** Returns how long ago something was, such as `40 seconds ago`. */
  ago(count: number, unit: 'second' | 'minute'): string;
  /** Returns the date in UTC, such as `January 2, 2030`. */
  date(instant: Date): string;
  /** Returns the date and the time in UTC, such as `January 2, 2030 at 11:30 AM UTC`. */
  moment(instant: Date): string;
}

export function createLanguage(tag: string, catalogue: Catalogue): Language {
  const units = new Map<string, Intl.NumberFormat>();
  // Created at the first use: each takes 0.1 ms and is seldom needed.
  let dates: Intl.DateTimeFormat | undefined;
  let times: Intl.RelativeTimeFormat | undefined;
  return {
    tag,
    name: catalogue['@name'],
    direction: directionOf(tag),
    text: (key, values = {}) =>
      catalogue[key].replace(PLACEHOLDER, (_, name) => {
        const value = requireValue(values, name);
        if (typeof value === 'number') return value.toLocaleString(tag);
        return `\u2068${withoutDirectionControls(value)}\u2069`;
      }),
    html: (key, values = {}) => joinHtml(catalogue[key], values),
    duration(count, unit) {
      const format = units.get(unit) ?? new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long' });
      units.set(unit, format);
      return format.format(count);
    },
    ago(count, unit) {
      times ??= new Intl.RelativeTimeFormat(tag);
      return times.format(-count, unit);
    },
    date(instant) {
      dates ??= new Intl.DateTimeFormat(tag, { dateStyle: 'long', timeZone: 'UTC' });
      return dates.format(instant);
    },
    moment: (instant) => new Intl.DateTimeFormat(tag, MOMENT).format(instant),
  };
}

/** `dateStyle` names no time zone. */
const MOMENT = {
  ...({ year: 'numeric', month: 'long', day: 'numeric', hour: 'numeric', minute: '2-digit' } as const),
  ...({ timeZone: 'UTC', timeZoneName: 'short' } as const),
};

const PLACEHOLDER = /\{(\w+)\}/g;

/** `PLACEHOLDER` has one group, so `split` returns texts and names alternately. */
function joinHtml(text: string, values: TextValues<string | Html>): Html {
  const parts = text.split(PLACEHOLDER).map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    const value = requireValue(values, part);
    return value instanceof Html ? value : isolate(value);
  });
  return html`${parts}`;
}

function requireValue<Value>(values: TextValues<Value>, name: string): Value {
  const value = values[name];
  if (value === undefined) throw new Error(`There is no value for {${name}} of a text`);
  return value;
}

function directionOf(tag: string): 'ltr' | 'rtl' {
  // The types of TypeScript lack `getTextInfo`.
  const locale: Intl.Locale & { getTextInfo?(): { direction?: string } } = new Intl.Locale(tag);
  return locale.getTextInfo?.().direction === 'rtl' ? 'rtl' : 'ltr';
}

function readCatalogue(tag: string): Partial<Catalogue> {
  return JSON.parse(readFileSync(new URL(`catalogues/${tag}.json`, import.meta.url), 'utf8'));
}

export const ENGLISH_CATALOGUE = readCatalogue('en') as Catalogue;

/** Every language by its tag, sorted by tag. A text that a catalogue lacks is shown in English. */
export const LANGUAGES: ReadonlyMap<string, Language> = new Map(
  readdirSync(new URL('catalogues', import.meta.url))
    .map((name) => name.replace('.json', ''))
    .sort()
    .map((tag) => [tag, createLanguage(tag, { ...ENGLISH_CATALOGUE, ...readCatalogue(tag) })]),
);

export const ENGLISH = createLanguage('en', ENGLISH_CATALOGUE);
