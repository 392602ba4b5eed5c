/** Pages that ask before an irreversible change: they describe the change, and the operator has to type the name. */
import { invalidField } from '../../../domain/core/errors.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate, withoutDirectionControls } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import type { ConsolePage, Section } from '../route.ts';
import { renderField, renderProblem } from './field.ts';
import { renderForm } from './form.ts';

interface Confirmation {
  readonly title: string;
  readonly section: Section;
  /** The consequences. */
  readonly text: Html | string;
  /** The name that the operator has to type. */
  readonly name: string;
  readonly submit: string;
  readonly back: string;
  /** Fields above the name. */
  readonly fields?: Html;
}

export function renderConfirmation(request: ConsoleRequest, confirmation: Confirmation): ConsolePage {
  const { title, section, text, name, submit, back, fields } = confirmation;
  return {
    title,
    section,
    body: html`<h1>${title}</h1>
${renderProblem(request, ['name'])}
${renderForm(
  request.context.path,
  html`<p>${text}</p>
${fields}
${renderField(request, { name: 'name', label: 'Type the name to confirm', isRequired: true, note: html`It is ${isolate(name)}` })}
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
