import { html } from './html.ts';

/** Usher's mark, in the colour of the text. */
export const MARK = html`<svg width="22" height="22" viewBox="0 0 22 22" fill="none" aria-hidden="true"><path fill="currentColor" d="M2 21V9.5a9 9 0 0 1 18 0V21h-4.5V9.5a4.5 4.5 0 0 0-9 0V21z"/><circle cx="11" cy="14.5" r="2" fill="currentColor"/></svg>`;
