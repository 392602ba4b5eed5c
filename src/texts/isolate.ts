import { showEmail } from '../config/email-address.ts';
import { type Html, html } from '../http/html.ts';

/** Characters that change the direction of the text around them (UAX #9). */
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Returns the text without controls that could end its isolation or affect the text after it, even within `<bdi>`. */
export function withoutDirectionControls(text: string): string {
  return text.replace(DIRECTION_CONTROLS, '');
}

/** Returns a text of users or applications in isolation: its direction may differ from that of the text around it. */
export function isolate(text: string): Html {
  return html`<bdi>${withoutDirectionControls(text)}</bdi>`;
}

/** Renders texts on one line, each in isolation. */
export function isolateAll(texts: readonly string[], separator = ', '): Html {
  return html`${texts.map((text, index) => html`${index > 0 && separator}${isolate(text)}`)}`;
}

/** Renders an e-mail address in isolation. Lines break after its @ and before its dots, as people read it. */
export function renderAddress(email: string): Html {
  const parts = withoutDirectionControls(showEmail(email)).split(/(?<=@)|(?=\.)/);
  return html`<bdi>${parts.map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}</bdi>`;
}
