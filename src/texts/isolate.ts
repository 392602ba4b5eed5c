import { type Html, html } from '../http/html.ts';

/** Characters that change the direction of the text around them (UAX #9). */
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Returns a text that cannot end its own isolation: `<bdi>` alone does not close what a text has opened. */
export function withoutDirectionControls(text: string): string {
  return text.replace(DIRECTION_CONTROLS, '');
}

/** Returns a text of somebody else, which has a direction of its own. */
export function isolate(text: string): Html {
  return html`<bdi>${withoutDirectionControls(text)}</bdi>`;
}
