/** Forms that change data: fields with the typed values and their errors, questions before a change, and handlers. */
import { randomUUID } from 'node:crypto';
import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import type { Fields } from '../../../api/call-info.ts';
import { type ErrorReason, invalidField } from '../../../domain/core/errors.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate, withoutDirectionControls } from '../../../texts/isolate.ts';
import { type ConsoleRequest, type Problem, perform } from '../console-request.ts';
import type { ConsolePage, ConsoleRoute, Section } from '../route.ts';
import type { Offered } from '../statements/named.ts';

/** The field with the unique ID of a rendered form, by which `SentForms` recognizes repetitions. */
export const SENDING_FIELD = 'sending';
/** The field with the version of the object that a form changes. */
const VERSION_FIELD = 'version';

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
function isOutdated(problem: ConsoleRequest['problem']): boolean {
  return problem?.error.reason === 'CHANGED_MEANWHILE';
}

/** Returns whether the form has typed or chosen values, beside its hidden fields. */
export function isTyped(form: URLSearchParams): boolean {
  return [...form].some(([name, value]) => value.trim() !== '' && name !== SENDING_FIELD && name !== VERSION_FIELD);
}

interface Field {
  /** The name of the field in the request of the RPC. */
  readonly name: string;
  readonly label: string;
  readonly value?: string | null | undefined;
  readonly note?: Html | string;
  readonly type?: 'file' | 'text' | 'url' | 'search' | 'number';
  readonly rows?: number;
  readonly isRequired?: boolean;
  readonly maxLength?: number;
  readonly placeholder?: string;
  /** What it offers while somebody types. */
  readonly offers?: Offered;
  /** The media types and the size limit of a file. */
  readonly accept?: string;
  readonly maxBytes?: number;
}

/** Renders a field with its label. In a refused form, it has the typed value. */
export function renderField({ problem }: Pick<ConsoleRequest, 'problem'>, field: Field): Html {
  const {
    name,
    label,
    note,
    rows,
    type = 'text',
    isRequired,
    maxLength,
    placeholder,
    offers,
    accept,
    maxBytes,
  } = field;
  const value = problem ? (problem.form.get(name) ?? '') : (field.value ?? '');
  const wrong = problemOf(problem, name);
  const described = [wrong && `${name}-wrong`, note && `${name}-note`].filter(Boolean).join(' ');
  const attributes = html` id="${name}" name="${name}" spellcheck="false"${isRequired && html` required`}${
    maxLength !== undefined && html` maxlength="${String(maxLength)}"`
  }${placeholder && html` placeholder="${placeholder}"`}${offers && html` data-offers="${offers}"`}${accept && html` accept="${accept}"`}${
    maxBytes !== undefined && html` data-max-bytes="${String(maxBytes)}"`
  }${wrong && html` aria-invalid="true"`}${described && html` aria-describedby="${described}"`}`;
  const input =
    rows === undefined
      ? html`<input${attributes} type="${type}" value="${value}" autocomplete="off">`
      : html`<textarea${attributes} rows="${String(rows)}">\n${value}</textarea>`;
  return html`<div class="field"><label for="${name}">${label}</label>${input}${
    wrong && html`<p class="wrong" id="${name}-wrong">${isolate(wrong)}</p>`
  }${isOutdated(problem) && renderSaved(field.value ?? '', value)}${note && html`<p id="${name}-note">${note}</p>`}</div>\n`;
}

/** Renders a checkbox with its label. */
export function renderCheck(
  { problem }: Pick<ConsoleRequest, 'problem'>,
  { name, label, value = 'on', isChecked }: { name: string; label: Html | string; value?: string; isChecked: boolean },
): Html {
  const checked = problem ? problem.form.getAll(name).includes(value) : isChecked;
  const saved = isOutdated(problem) && checked !== isChecked && (isChecked ? 'Saved: yes' : 'Saved: no');
  return html`<label><input type="checkbox" name="${name}" value="${value}"${checked && html` checked`}><span>${label}${saved && html` <span class="tag warn">${saved}</span>`}</span></label>\n`;
}

/** Renders the stored value if it differs from the typed one: somebody else may have changed it. */
function renderSaved(saved: string, typed: string): Html | false {
  // Browsers send line breaks as CR LF.
  if (typed.replaceAll('\r\n', '\n').trim() === saved.trim()) return false;
  return html`<p class="saved">Saved: ${saved === '' ? 'nothing' : isolate(saved)}</p>`;
}

/** Renders a drop-down list. */
export function renderSelect(
  name: string,
  label: string,
  options: readonly (readonly [value: string, label: string])[],
  chosen: string,
  note?: Html | string,
): Html {
  const items = options.map(
    ([value, text]) => html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`,
  );
  return html`<div class="field"><label for="${name}">${label}</label><select id="${name}" name="${name}"${note && html` aria-describedby="${name}-note"`}>${items}</select>${note && html`<p id="${name}-note">${note}</p>`}</div>\n`;
}

/** Renders a drop-down list of a form that edits something. In a refused form, it has the chosen value. */
export function renderEditedSelect(
  { problem }: Pick<ConsoleRequest, 'problem'>,
  { name, label, options, saved, note }: Choice,
): Html {
  const chosen = problem?.form.get(name) ?? saved;
  const labelOf = options.find(([value]) => value === saved)?.[1] ?? saved;
  const shown = isOutdated(problem) && chosen !== saved && html` <span class="saved">Saved: ${labelOf}</span>`;
  return renderSelect(name, label, options, chosen, html`${note}${shown}`);
}

interface Choice {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly saved: string;
  readonly note: string;
}

const OUTDATED =
  'Somebody has changed this since you opened it, so nothing is saved yet. What you typed is kept. Where it differs from ' +
  'the saved values, you see those below. Save again to replace them.';

/** Renders the error of a form as a whole, and errors of fields that the form does not show. */
export function renderProblem(
  { problem }: Pick<ConsoleRequest, 'problem'>,
  shown: readonly string[] = [],
): Html | false {
  if (!problem) return false;
  const { message, violations } = problem.error;
  const others = violations.filter(({ field }) => !shown.includes(ownerOf(field)));
  const text = isOutdated(problem)
    ? OUTDATED
    : violations.length === 0
      ? `${message}.`
      : 'Nothing is saved yet: see the errors below.';
  return html`<div class="alert" role="alert" tabindex="-1"><p>${text}</p>${others.map(
    (violation) => html`<p>${violation.field}: ${violation.message}</p>`,
  )}</div>`;
}

/** The field that an error without violations belongs to. */
const FIELDS_OF_ERRORS: Partial<Record<ErrorReason, string>> = {
  USER_ALREADY_EXISTS: 'email',
  EXTERNAL_ID_ALREADY_EXISTS: 'externalId',
  APPLICATION_NOT_FOUND: 'applicationId',
  USER_NOT_FOUND: 'userId',
  RESOURCE_ALREADY_EXISTS: 'resourceUri',
  GROUP_ALREADY_EXISTS: 'name',
  GROUP_NOT_FOUND: 'group',
  EVENT_ALREADY_EXISTS: 'eventId',
};

/** Returns the field of the form for a place in it, such as `resourceScopes[0].name`. */
function ownerOf(place: string): string {
  return place.replace(/[[.].*$/, '');
}

function problemOf(problem: Problem | undefined, name: string): string | undefined {
  if (!problem) return undefined;
  const { reason, message, violations } = problem.error;
  const found = violations
    .filter(({ field }) => ownerOf(field) === name)
    .map(({ field, message: text }) => (field === name ? text : `${field.slice(name.length)} ${text}`));
  if (found.length > 0) return found.join('; ');
  return FIELDS_OF_ERRORS[reason] === name ? message : undefined;
}

/** Returns the request as the form sees that was not sent: without the problem and the values of the other one. */
export function withoutProblem({ problem, ...request }: ConsoleRequest): ConsoleRequest {
  return request;
}

/** Returns the text of a field, or null if it is empty: in an update, null clears a field. */
export function textOrNull(form: URLSearchParams, name: string): string | null {
  return form.get(name)?.trim() || null;
}

interface Confirmation {
  readonly title: string;
  /** Above the question. Defaults to the title. */
  readonly heading?: Html;
  readonly section: Section;
  /** The consequences. */
  readonly text: Html | string;
  /** The name that the operator has to type. False for a change that something makes good again. */
  readonly name: string | false;
  readonly submit: string;
  readonly back: string;
  /** Fields above the name. */
  readonly fields?: Html;
}

/** Renders a page that asks before a change. If it is irreversible, the operator has to type the name. */
export function renderConfirmation(request: ConsoleRequest, confirmation: Confirmation): ConsolePage {
  const { title, heading, section, text, name, submit, back, fields } = confirmation;
  return {
    title,
    section,
    body: html`<h1>${heading ?? title}</h1>
${renderProblem(request, ['name'])}
${renderForm(
  request.context.path,
  html`<p>${text}</p>
${fields}
${name !== false && renderField(request, { name: 'name', label: 'Type the name to confirm', isRequired: true, note: html`It is ${isolate(name)}` })}
<div class="actions"><button class="danger">${submit}</button><a class="button second" href="${back}">Back</a></div>`,
  'fields tight sheet',
)}`,
  };
}

/** Returns the visible part of a text, which the operator can type. */
function toVisibleText(text: string): string {
  return withoutDirectionControls(text).normalize().replace(/\s+/g, ' ').trim();
}

/** @throws ServiceError `Validation failed` unless the operator typed the name */
export function requireName({ form }: ConsoleRequest, name: string): void {
  if (toVisibleText(form.get('name') ?? '') !== toVisibleText(name))
    throw invalidField('name', 'must be the name below');
}

/**
 * Returns a handler that calls an RPC with the fields of a form, and redirects to a page. If the form has a version, an
 * update fails unless that version is the stored one.
 */
export function createAction<Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  readFields: (request: ConsoleRequest) => Fields<Input> | Promise<Fields<Input>>,
  pathAfter: (request: ConsoleRequest, answer: MessageInitShape<Output>) => string,
): ConsoleRoute['run'] {
  return async (request) => {
    const ifVersion = request.form.get(VERSION_FIELD) || undefined;
    const answer = await perform(request, method, await readFields(request), ifVersion);
    return { redirect: pathAfter(request, answer) };
  };
}
