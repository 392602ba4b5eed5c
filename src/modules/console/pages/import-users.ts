/** New users from a file: what would become of each line is shown before anything is stored. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { ERRORS, type ErrorReason, invalidField } from '../../../domain/core/errors.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, perform } from '../console-request.ts';
import { renderField, renderForm, renderProblem, renderSelect } from '../parts/form.ts';
import { column, renderRows } from '../parts/list.ts';
import { renderBreadcrumbs } from '../parts/panel.ts';
import { type PersonLine, readPeopleLines } from '../parts/people-lines.ts';
import { MAX_LIST_BYTES } from '../read-console-form.ts';
import type { ConsolePage, Reply } from '../route.ts';

const BATCH = 100;
/** Lines that are shown. */
const SHOWN_LINES = 100;
const CONFLICTS = [
  ['skip', 'Leave them as they are'],
  ['update', 'Change them to what the file says'],
] as const;

const NOTE = html`CSV with a heading that has <code>email</code>, and perhaps <code>name</code>, <code>externalId</code> and <code>groups</code>; or JSON lines as <code>POST /admin/users.jsonl</code> takes them, also many at a time. Up to 64 KiB here.`;

export async function showImportUsers(request: ConsoleRequest): Promise<ConsolePage> {
  return renderImport(
    html`<form method="post" action="/users/import" enctype="multipart/form-data" class="fields tight">
${renderProblem(request, ['file'])}
${renderField(request, { name: 'file', label: 'File', type: 'file', isRequired: true, accept: '.csv,.tsv,.txt,.jsonl,.ndjson,text/csv,application/jsonl', maxBytes: MAX_LIST_BYTES, note: NOTE })}
${renderSelect('onConflict', 'People who are here already', CONFLICTS, 'skip')}
<div class="actions"><button>Check the file</button><a class="button second" href="/users">Back</a></div>
</form>`,
  );
}

function renderImport(content: Html): ConsolePage {
  return {
    title: 'Import users',
    section: 'users',
    body: html`${renderBreadcrumbs(['/users', 'Users'])}
<h1>Import users</h1>
${content}`,
  };
}

interface Outcome extends PersonLine {
  readonly status: 'created' | 'updated' | 'skipped' | 'failed';
}

export async function importUsers(request: ConsoleRequest): Promise<Reply> {
  const isConfirmed = request.form.has('confirmed');
  const { text, onConflict } = isConfirmed
    ? { text: request.form.get('lines') ?? '', onConflict: request.form.get('onConflict') }
    : await readUpload(request);
  const lines = readPeopleLines(text);
  if (lines.length === 0) throw invalidField('file', 'has no line');
  const choice = CONFLICTS.find(([value]) => value === onConflict)?.[0] ?? 'skip';
  const outcomes = await importLines(request, lines, choice, !isConfirmed);
  return isConfirmed ? renderDone(outcomes) : renderCheck(outcomes, choice);
}

async function readUpload({ upload }: ConsoleRequest): Promise<{ text: string; onConflict: string }> {
  const fields = await upload?.formData().catch(() => undefined);
  const [file, onConflict] = [fields?.get('file'), fields?.get('onConflict')];
  if (!(file instanceof File) || file.size === 0 || file.size > MAX_LIST_BYTES)
    throw invalidField('file', 'must be a file of at most 64 KiB');
  return { text: await file.text(), onConflict: String(onConflict) };
}

/** Imports the lines, or says what would become of them. Each line stands or falls alone. */
async function importLines(
  request: ConsoleRequest,
  lines: readonly PersonLine[],
  onConflict: string,
  dryRun: boolean,
): Promise<Outcome[]> {
  const read = lines.filter(({ person }) => person);
  const outcomes = new Map<PersonLine, Outcome>();
  for (let at = 0; at < read.length; at += BATCH) {
    const batch = read.slice(at, at + BATCH);
    const users = batch.map(({ person }) => person);
    const { results = [] } = await perform(request, AdminService.method.batchCreateUsers, {
      users,
      onConflict,
      dryRun,
    });
    for (const [index, line] of batch.entries()) {
      const { status = 'failed', reason, field } = results[index] ?? {};
      // Equivalent: condition: only a line that is refused shows it, and has a reason
      const problem = reason && `${field ? `${field}: ` : ''}${ERRORS[reason as ErrorReason]?.[1] ?? reason}`;
      outcomes.set(line, { ...line, status: status as Outcome['status'], problem });
    }
  }
  return lines.map((line) => outcomes.get(line) ?? { ...line, status: 'failed' });
}

const COUNTED = [
  ['created', 'new'],
  ['updated', 'changed'],
  ['skipped', 'left as they are'],
  ['failed', 'refused'],
] as const;

/** Such as `12 new, 3 refused`. */
function describeCounts(outcomes: readonly Outcome[]): string {
  const counts = COUNTED.map(
    ([status, word]) => [outcomes.filter((each) => each.status === status).length, word] as const,
  );
  return counts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count.toLocaleString('en')} ${word}`)
    .join(', ');
}

function renderCheck(outcomes: readonly Outcome[], onConflict: string): ConsolePage {
  const accepted = outcomes.filter(({ status }) => status !== 'failed');
  const json = accepted.map(({ person }) => JSON.stringify(person)).join('\n');
  return renderImport(
    renderForm(
      '/users/import',
      html`${renderRefused(outcomes)}
<p role="status" tabindex="-1">${describeCounts(outcomes)}. Nothing is stored yet.</p>
${accepted.length > 0 && html`<input type="hidden" name="lines" value="${json}"><input type="hidden" name="onConflict" value="${onConflict}"><input type="hidden" name="confirmed" value="on">`}
<div class="actions">${accepted.length > 0 && html`<button>Import ${accepted.length.toLocaleString('en')} ${accepted.length === 1 ? 'person' : 'people'}</button>`}<a class="button second" href="/users/import">Back</a></div>`,
      'fields tight',
    ),
  );
}

function renderDone(outcomes: readonly Outcome[]): ConsolePage {
  return renderImport(html`<p class="alert note" role="status" tabindex="-1">Imported: ${describeCounts(outcomes)}.</p>
${renderRefused(outcomes)}
<p><a class="button" href="/users">To the users</a></p>`);
}

function renderRefused(outcomes: readonly Outcome[]): Html | false {
  const refused = outcomes.filter(({ status }) => status === 'failed');
  return (
    refused.length > 0 &&
    html`<h2 id="refused">Refused</h2>
${renderRows({ labelledBy: 'refused', columns: REFUSED_COLUMNS, rows: refused.slice(0, SHOWN_LINES), empty: '' })}
${refused.length > SHOWN_LINES && html`<p class="small soft">And ${(refused.length - SHOWN_LINES).toLocaleString('en')} more.</p>`}`
  );
}

const REFUSED_COLUMNS = [
  column('Line', ({ number }: Outcome) => String(number)),
  column('Text', ({ text }: Outcome) => isolate(text)),
  column('Why', ({ problem }: Outcome) => isolate(problem ?? '')),
];
