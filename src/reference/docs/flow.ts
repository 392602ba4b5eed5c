/** The sequence diagram of a login. */
import { type Html, html } from '../../http/html.ts';

const STEP = 46;
const TOP = 56;

type Lane = 'Browser' | 'Application' | 'Usher';

interface Layout {
  readonly name: string;
  readonly width: number;
  readonly lanes: Readonly<Record<Lane, number>>;
}

/** In the narrow layout, texts are wider than the space between two lanes: see `placeText`. */
const LAYOUTS: readonly Layout[] = [
  { name: 'wide', width: 720, lanes: { Browser: 90, Application: 360, Usher: 630 } },
  { name: 'narrow', width: 328, lanes: { Browser: 30, Application: 162, Usher: 304 } },
];

const MESSAGES: readonly (readonly [from: Lane, to: Lane, text: string])[] = [
  ['Browser', 'Application', '1  wants to sign in'],
  ['Application', 'Usher', '2  GenerateAuthUrl: an intent begins'],
  ['Application', 'Browser', '3  redirect to authUrl'],
  ['Browser', 'Usher', '4  signs in: code, passkey, wallet'],
  ['Usher', 'Browser', '5  redirect with authToken, state, iss'],
  ['Browser', 'Application', '6  opens the redirect URI'],
  ['Application', 'Usher', '7  ExchangeToken: a session begins'],
  ['Usher', 'Application', '8  user, session'],
];
const HEIGHT = TOP + MESSAGES.length * STEP;

const TITLE = `A login. ${MESSAGES.map(([from, to, text]) => `${from} to ${to}: ${text}.`).join(' ')}`;

/** Both layouts. The style of the page hides one of them, and colours lines and text. */
export const FLOW = html`<figure>${LAYOUTS.map(renderFlow)}</figure>`;

function renderFlow({ name, width, lanes }: Layout): Html {
  return html`<svg class="flow ${name}" viewBox="0 0 ${String(width)} ${String(HEIGHT)}" role="img" aria-labelledby="flow-${name}">
<title id="flow-${name}">${TITLE}</title>
<defs><marker id="arrow-${name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker></defs>
${Object.entries(lanes).map(
  ([lane, x]) => html`<line class="lane" x1="${String(x)}" y1="36" x2="${String(x)}" y2="${String(HEIGHT)}"/>
<text class="name" x="${String(x)}" y="24" text-anchor="middle">${lane}</text>`,
)}
${MESSAGES.map(([from, to, text], index) => {
  const y = TOP + index * STEP + 20;
  const [start, end] = [lanes[from], lanes[to]];
  const { x, anchor } = placeText(Math.min(start, end), Math.max(start, end));
  return html`<line class="message" x1="${String(start)}" y1="${String(y)}" x2="${String(end)}" y2="${String(y)}" marker-end="url(#arrow-${name})"/>
<text x="${String(x)}" y="${String(y - 7)}" text-anchor="${anchor}">${text}</text>`;
})}
</svg>`;
}

/** Places the text in the middle of its arrow, or beside a lane where the arrow is shorter than the text. */
function placeText(left: number, right: number): { x: number; anchor: string } {
  if (right - left > 200) return { x: (left + right) / 2, anchor: 'middle' };
  return left < 100 ? { x: left + 6, anchor: 'start' } : { x: right + 16, anchor: 'end' };
}
