/** The picture of a login: who sends what to whom. */
import { type Html, html } from '../../http/html.ts';

const WIDTH = 720;
const STEP = 46;
const TOP = 56;
const LANES = { Browser: 90, Application: 360, Usher: 630 } as const;

type Lane = keyof typeof LANES;

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

/** Lines and text have the colours of the page. */
export const FLOW = html`<figure tabindex="0" aria-label="Picture of a login"><svg class="flow" viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}" role="img" aria-labelledby="flow-title">
<title id="flow-title">A login in eight steps between browser, application and Usher, as the list below tells</title>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker></defs>
${Object.entries(LANES).map(
  ([name, x]) => html`<line class="lane" x1="${String(x)}" y1="36" x2="${String(x)}" y2="${String(HEIGHT)}"/>
<text class="name" x="${String(x)}" y="24" text-anchor="middle">${name}</text>`,
)}
${MESSAGES.map(renderMessage)}
</svg></figure>`;

function renderMessage([from, to, text]: (typeof MESSAGES)[number], index: number): Html {
  const y = String(TOP + index * STEP + 20);
  const [start, end] = [LANES[from], LANES[to]];
  const middle = String((start + end) / 2);
  return html`<line class="message" x1="${String(start)}" y1="${y}" x2="${String(end)}" y2="${y}" marker-end="url(#arrow)"/>
<text x="${middle}" y="${String(Number(y) - 7)}" text-anchor="middle">${text}</text>`;
}
