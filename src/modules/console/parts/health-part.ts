/** A part of what Health shows. */
import { type Html, html } from '../../../http/html.ts';
import { renderFacts, renderPanel } from './panel.ts';

export interface Part {
  readonly id: string;
  readonly title: string;
  /** What is not well, in whole sentences. */
  readonly problems: readonly (Html | string | false)[];
  readonly facts: Parameters<typeof renderFacts>[0];
  readonly below?: Html | false;
}

export function problemsOf(parts: readonly Part[]): readonly (Html | string)[] {
  return parts.flatMap(({ problems }) => problems.filter((problem) => problem !== false));
}

export function renderPart({ id, title, problems, facts, below }: Part): Html {
  const isWell = problems.every((problem) => problem === false);
  const badge = html`<span class="tag ${isWell ? 'good' : 'bad'}">${isWell ? 'Well' : 'Not well'}</span>`;
  return renderPanel(id, title, html`${renderFacts(facts)}${below}`, badge);
}
