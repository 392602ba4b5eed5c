import { showEmail } from '../config/email-address.ts';
import { type Html, html } from '../http/html.ts';
import { withoutDirectionControls } from './isolate.ts';

/** Renders an e-mail address in isolation. Lines break after its @ and before its dots, as people read it. */
export function renderAddress(email: string): Html {
  const parts = withoutDirectionControls(showEmail(email)).split(/(?<=@)|(?=\.)/);
  return html`<bdi>${parts.map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}</bdi>`;
}
