/** Forms that change data, with their hidden fields. */
import { randomUUID } from 'node:crypto';
import { type Html, html } from '../../../http/html.ts';
import type { ConsoleRequest } from '../console-request.ts';

/** The field with the unique ID of a rendered form, by which `SentForms` recognizes repetitions. */
export const SENDING_FIELD = 'sending';
/** The field with the version of the object that a form changes. */
export const VERSION_FIELD = 'version';

export function renderForm(path: string, content: Html, className = ''): Html {
  return html`<form method="post" action="${path}"${className && html` class="${className}"`}><input type="hidden" name="${SENDING_FIELD}" value="${randomUUID()}">
${content}
</form>`;
}

/** Renders the version of the object that a form changes. A form that was refused for its values keeps its version. */
export function renderVersion({ problem }: Pick<ConsoleRequest, 'problem'>, version: string | undefined): Html {
  const kept = problem && !isOutdated(problem) ? problem.form.get(VERSION_FIELD) : undefined;
  return html`<input type="hidden" name="${VERSION_FIELD}" value="${kept ?? version ?? ''}">`;
}

/** Returns whether somebody else has changed the object since the form was rendered. */
export function isOutdated(problem: ConsoleRequest['problem']): boolean {
  return problem?.error.reason === 'CHANGED_MEANWHILE';
}

/** Returns whether the form has typed or chosen values, beside its hidden fields. */
export function isTyped(form: URLSearchParams): boolean {
  return [...form].some(([name, value]) => value.trim() !== '' && name !== SENDING_FIELD && name !== VERSION_FIELD);
}
