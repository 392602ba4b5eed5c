/** Forms that change something, with their hidden fields. */
import { randomUUID } from 'node:crypto';
import { type Html, html } from '../../http/html.ts';
import type { ConsoleRequest } from '../console-request.ts';

/** The field that tells one sending of a form from the next: see `SentForms`. */
export const SENDING_FIELD = 'sending';
/** The field with the version of what a form changes. */
export const VERSION_FIELD = 'version';

export function renderForm(path: string, content: Html, className = ''): Html {
  return html`<form method="post" action="${path}"${className && html` class="${className}"`}><input type="hidden" name="${SENDING_FIELD}" value="${randomUUID()}">
${content}
</form>`;
}

/** Renders which version of something a form changes. One that was refused for its values is still of the old version. */
export function renderVersion({ problem }: Pick<ConsoleRequest, 'problem'>, version: string | undefined): Html {
  const kept = problem && !isOutdated(problem) ? problem.form.get(VERSION_FIELD) : undefined;
  return html`<input type="hidden" name="${VERSION_FIELD}" value="${kept ?? version ?? ''}">`;
}

/** Whether somebody else has changed the same since the form was rendered. */
export function isOutdated(problem: ConsoleRequest['problem']): boolean {
  return problem?.error.reason === 'CHANGED_MEANWHILE';
}

/** Returns whether something was typed into a form, or chosen. */
export function isTyped(form: URLSearchParams): boolean {
  return [...form].some(([name, value]) => value.trim() !== '' && name !== SENDING_FIELD && name !== VERSION_FIELD);
}
