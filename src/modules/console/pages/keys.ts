/** The API keys of an application. Usher stores only the hash of a key, so the console shows it once. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { listApiKeys } from '../../../domain/api-keys/list-api-keys.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, findApplication, perform } from '../console-request.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import { createAction, renderConfirmation, renderField, renderSelect, requireName, textOrNull } from '../parts/form.ts';
import { actionsColumn, column, pageFields, wideColumn } from '../parts/list.ts';
import { INSTANT_EXAMPLE, parseInstant, renderDay, renderMoment } from '../parts/moment.ts';
import { renderCopied } from '../parts/panel.ts';
import type { ConsolePage, Reply } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

type ApiKey = Awaited<ReturnType<typeof listApiKeys>>['rows'][number];

/** Shows the keys, and above them the key that was just created. */
export async function showKeys(request: ConsoleRequest, created?: Html): Promise<ConsolePage> {
  const { call, operator, parts, query } = request;
  const application = await findApplication(call, request.params.a);
  const path = `/applications/${application.id}/keys`;
  const given = { applicationId: application.id, ...pageFields(query) };
  const page = await listApiKeys(call, parts.pageTokens, given);
  const isAdmin = includesRole(operator.role, 'admin');
  const columns = columnsAt(call.now, application.declaredByFile === true);
  const actions = actionsColumn((key: ApiKey) => renderActions(call.now, key, path));
  const fields = html`${renderField(request, { name: 'name', label: 'Name', note: 'Distinguishes it from other keys.' })}
${renderField(request, { name: 'expiresAt', label: 'Works until (UTC)', placeholder: INSTANT_EXAMPLE, note: 'Empty: until it is revoked.' })}`;
  return renderApplicationList(request, application, {
    tab: 'keys',
    heading: 'API keys',
    page,
    columns: isAdmin ? [...columns, actions] : columns,
    empty: 'This application cannot call Usher.',
    above: created,
    form: isAdmin && { title: 'Create a key', shown: ['name', 'expiresAt'], fields },
  });
}

function columnsAt(now: Date, isDeclared: boolean) {
  return [
    column(
      'Name',
      (key: ApiKey) =>
        html`${isolate(nameOf(key))}<br>${renderCopied(key.apiKeyId, html`<code class="small soft">${key.apiKeyId}</code>`)}`,
    ),
    column(
      'State',
      (key: ApiKey) =>
        html`${renderKeyState(now, key)}${isDeclared && !key.declaredByFile && html` <span class="tag">not in the file</span>`}`,
    ),
    wideColumn('Use', ({ use }: ApiKey) => use),
    wideColumn('Created', ({ createdAt }: ApiKey) => renderDay(createdAt)),
    wideColumn('Last used', ({ lastUsedAt }: ApiKey) => renderMoment(lastUsedAt, 'never')),
    wideColumn('Works until', ({ expiresAt }: ApiKey) => renderMoment(expiresAt)),
  ];
}

function renderKeyState(now: Date, { revokedAt, expiresAt, replacedBy }: ApiKey): Html {
  if (revokedAt) return html`<span class="tag">Revoked</span>`;
  if (expiresAt && expiresAt <= now) return html`<span class="tag">Expired</span>`;
  return replacedBy ? html`<span class="tag warn" title="${replacedBy}">Replaced</span>` : html`Works`;
}

function renderActions(
  now: Date,
  { apiKeyId, revokedAt, expiresAt, replacedBy, declaredByFile }: ApiKey,
  path: string,
): Html | string {
  if (declaredByFile || revokedAt || (expiresAt && expiresAt <= now)) return '';
  const link = (action: string, label: string) => html`<a href="${path}/${apiKeyId}/${action}">${label}</a>`;
  return html`${!replacedBy && html`${link('rotate', 'Rotate…')} `}${link('revoke', 'Revoke…')}`;
}

export async function createKey(request: ConsoleRequest): Promise<Reply> {
  const { form, params } = request;
  const given = textOrNull(form, 'expiresAt');
  // The rule of the field says what is wrong with other texts.
  const expiresAt = given === null ? undefined : (parseInstant(given) ?? given);
  const fields = { applicationId: params.a, name: textOrNull(form, 'name') ?? undefined, expiresAt };
  const { apiKey } = await perform(request, AdminService.method.createApiKey, fields as object);
  return showCreatedKey(request, apiKey);
}

/** Shows the new key in the answer to its form, not after a redirect: nothing has stored it. */
function showCreatedKey(request: ConsoleRequest, apiKey = ''): Promise<ConsolePage> {
  const path = `/applications/${request.params.a}/keys`;
  return showKeys(request, renderOnce(path, apiKey, html`<strong>This key is shown once.</strong> Copy it now.`));
}

/** Renders a text that is not shown again. A script replaces the URL by `path`, so that a reload sends no form again. */
export function renderOnce(path: string, text: string, about: Html): Html {
  return html`<div class="alert note once" role="status" tabindex="-1" data-path="${path}"><p>${about}</p>
<p><code>${text}</code> <button type="button" class="quiet" data-copy="${text}" hidden>Copy</button></p></div>`;
}

async function findKey({ call, params, parts }: ConsoleRequest): Promise<ApiKey> {
  for (let pageToken = ''; ; ) {
    const page = { applicationId: params.a, pageSize: 100, pageToken };
    const { rows, nextPageToken } = await listApiKeys(call, parts.pageTokens, page);
    const found = rows.find(({ apiKeyId }) => apiKeyId === params.k?.toLowerCase());
    if (found) return found;
    if (nextPageToken === '') throw new ServiceError('API_KEY_NOT_FOUND');
    pageToken = nextPageToken;
  }
}

/** Keys of before have no name. */
const nameOf = ({ name, apiKeyId }: ApiKey) => name ?? apiKeyId.slice(-6);

const OVERLAP = 'overlapSeconds';
const NO_OVERLAP = '0';
const OVERLAPS = [
  ['86400', 'a day'],
  ['3600', 'an hour'],
  ['604800', 'a week'],
  [NO_OVERLAP, 'no time'],
] as const;

/** Asks for the name only if the old key ends at once. */
export async function showRotateKey(request: ConsoleRequest): Promise<ConsolePage> {
  const name = nameOf(await findKey(request));
  const overlap = request.problem?.form.get(OVERLAP) ?? OVERLAPS[0][0];
  return renderConfirmation(request, {
    title: `Rotate the key ${name}`,
    heading: html`Rotate the key ${isolate(name)}`,
    section: 'applications',
    text: 'Creates a new key. The old key keeps working for a while, so that you can replace it.',
    fields: renderSelect(OVERLAP, 'The old key works for', OVERLAPS, overlap),
    name: overlap === NO_OVERLAP && name,
    submit: 'Rotate',
    back: `/applications/${request.params.a}/keys`,
  });
}

export async function rotateKey(request: ConsoleRequest): Promise<Reply> {
  const key = await findKey(request);
  const overlap = request.form.get(OVERLAP) ?? OVERLAPS[0][0];
  if (overlap === NO_OVERLAP) requireName(request, nameOf(key));
  const fields = { apiKeyId: key.apiKeyId, overlapSeconds: Number(overlap) };
  const { apiKey } = await perform(request, AdminService.method.rotateApiKey, fields);
  return showCreatedKey(request, apiKey);
}

export async function showRevokeKey(request: ConsoleRequest): Promise<ConsolePage> {
  return renderConfirmation(request, {
    title: 'Revoke a key',
    section: 'applications',
    text: 'Calls with this key fail within seconds.',
    name: nameOf(await findKey(request)),
    submit: 'Revoke',
    back: `/applications/${request.params.a}/keys`,
  });
}

export const revokeKey = createAction(
  AdminService.method.revokeApiKey,
  async (request) => {
    const key = await findKey(request);
    requireName(request, nameOf(key));
    return { apiKeyId: key.apiKeyId };
  },
  ({ params }) => `/applications/${params.a}/keys?done=revoked`,
);
