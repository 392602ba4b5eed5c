/** The form with which an operator lets somebody back in who has lost a way to sign in, and the recovery links of a user. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { DAY_MS } from '../../../database/schema/table-facts.ts';
import { listUserIdentities } from '../../../domain/identities/list-identities.ts';
import { listPasskeys } from '../../../domain/passkeys/list-passkeys.ts';
import { STOPPED_DAYS } from '../../../domain/recovery/create-recovery-link.ts';
import { listRecoveryLinks } from '../../../domain/recovery/list-recovery-links.ts';
import type { RecoveryLink, Removal } from '../../../domain/recovery/recovery-link.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import { listUserApplications } from '../../../domain/users/list-user-applications.ts';
import type { User } from '../../../domain/users/user.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate, isolateAll, renderAddress } from '../../../texts/isolate.ts';
import { type ConsoleRequest, perform } from '../console-request.ts';
import {
  createAction,
  renderCheck,
  renderEditedSelect,
  renderField,
  renderForm,
  renderProblem,
} from '../parts/form.ts';
import { actionsColumn, column, renderRows, wideColumn } from '../parts/list.ts';
import { renderMoment } from '../parts/moment.ts';
import { renderBreadcrumbs, renderCopied, renderFacts, renderNote, renderPanel, renderWallet } from '../parts/panel.ts';
import type { ConsolePage, Reply } from '../route.ts';

const { createRecoveryLink, revokeRecoveryLink } = AdminService.method;
const LISTED = 20;

const LABELS: Readonly<Record<Removal, string>> = {
  ADDRESS: 'address',
  PASSKEYS: 'passkeys',
  SECOND_FACTOR: 'authenticator app',
  WALLET: 'wallet',
  IDENTITIES: 'accounts at providers',
};

/** Returns how a button or a heading calls the user, in one word. */
export function nameShortly({ name, email }: Pick<User, 'name' | 'email'>): string {
  return name?.trim().split(/\s+/)[0] || showEmail(email);
}

export async function showRecovery(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, params } = request;
  const user = await getUser(call, { userId: params.u });
  const who = isolate(nameShortly(user));
  const links = await readLinks(request, user);
  const stoppedAt = links.find(({ status }) => status === 'STOPPED')?.endedAt;
  const wasStopped = stoppedAt instanceof Date && call.now.getTime() - stoppedAt.getTime() < STOPPED_DAYS * DAY_MS;
  return {
    title: `${nameShortly(user)} has lost …`,
    section: 'users',
    body: html`${renderBreadcrumbs(['/users', 'Users'], [`/users/${user.id}`, isolate(user.name ?? showEmail(user.email))])}
<div>
<h1>${who} has lost …</h1>
<p class="soft">First make sure who is calling. You send a link by any channel, and read eight digits out by another. Neither works alone.</p>
</div>
${renderNote(request)}
${renderProblem(request, ['removes', 'reason', 'delayHours', 'expiresInMinutes'])}
${wasStopped && html`<p class="alert warn">${renderMoment(stoppedAt)}: somebody who reads ${renderAddress(user.email)} has stopped a recovery. If that was not ${who}, tick all that this person may have added.</p>`}
<div class="two">
${renderForm(`/users/${user.id}/recovery`, await renderFields(request, user), 'fields tight')}
${renderOutlook(user, who)}
</div>
${renderLinks(links, user)}`,
  };
}

async function renderFields(request: ConsoleRequest, user: User): Promise<Html> {
  const { call, parts } = request;
  const [passkeys, identities, { rows: applications }] = await Promise.all([
    listPasskeys(call, { userId: user.id }),
    listUserIdentities(call, { userId: user.id }),
    listUserApplications(call, parts.pageTokens, { userId: user.id, pageSize: 1 }),
  ]);
  // With nothing ticked, the link of a new user enrols.
  const isNew = applications.length === 0 && passkeys.length === 0;
  const check = (value: Removal, label: string, about: Html) =>
    renderCheck(request, {
      name: 'removes',
      value,
      label: html`${label}<br><span class="soft">${about}</span>`,
      isChecked: !isNew,
    });
  const providers = identities.map(({ provider }) => parts.providers.nameOf(provider) || provider);
  const checks = html`${parts.notices && check('ADDRESS', 'The e-mail address', html`${renderAddress(user.email)}. The link asks for a new one, and proves it by a code.`)}${
    passkeys.length > 0 && check('PASSKEYS', 'The passkeys', isolateAll(passkeys.map(({ name }) => name)))
  }${identities.length > 0 && check('IDENTITIES', 'The accounts at providers', isolateAll(providers))}${
    user.walletAddress !== '' && check('WALLET', 'The wallet', renderWallet(user.walletAddress))
  }`;
  const note = isNew
    ? 'Has not signed in to any application. With nothing ticked, the link lets a new person add a first passkey.'
    : 'All are ticked with the address: whoever reads that mailbox may have added any of them.';
  return html`<fieldset class="check field"><legend>What is lost</legend>
${checks}<p>${note}</p>
</fieldset>
${renderField(request, { name: 'reason', label: 'Why, and how you know who it is', rows: 3, isRequired: true, maxLength: 500, note: 'Only the audit log keeps it.' })}
<div class="filters">
${renderEditedSelect(request, { name: 'delayHours', label: 'Works from', saved: '', note: 'Usual: in 24 hours with the address, else at once.', options: DELAYS })}
${renderEditedSelect(request, { name: 'expiresInMinutes', label: 'Then for', saved: '60', note: '', options: LIFETIMES })}
</div>
<div class="actions"><button>Make link and code</button><a class="button second" href="/users/${user.id}">Cancel</a></div>`;
}

const DELAYS = [
  ['', 'the usual time'],
  ['0', 'at once'],
  ['24', 'in 24 hours'],
  ['72', 'in 72 hours'],
] as const;

const LIFETIMES = [
  ['15', '15 minutes'],
  ['60', 'an hour'],
  ['1440', '24 hours'],
] as const;

function renderOutlook(user: User, who: Html): Html {
  return renderPanel(
    'then',
    'What will happen',
    renderFacts([
      ['Now', html`Nothing is removed. A note goes to ${renderAddress(user.email)}, with “Stop this”.`],
      ['Until then', 'The link says from when on it works. The mailbox can stop it.'],
      ['When it is used', html`What you ticked is removed, and ${who} is signed out everywhere, within 5 seconds.`],
      ['After that', html`${who} adds a passkey. Both addresses are told what was removed.`],
      ['Stays', 'Name, groups, applications, attributes.'],
    ]),
  );
}

/** Makes the link, and shows it in the answer to the form, not after a redirect: nothing has stored it. */
export async function makeRecoveryLink(request: ConsoleRequest): Promise<Reply> {
  const { call, form, params } = request;
  const delay = form.get('delayHours') ?? '';
  const {
    recoveryLink,
    url = '',
    spokenCode = '',
  } = await perform(request, createRecoveryLink, {
    userId: params.u,
    removes: form.getAll('removes'),
    reason: form.get('reason')?.trim() ?? '',
    expiresInMinutes: Number(form.get('expiresInMinutes') ?? 60),
    ...(delay !== '' && { delayHours: Number(delay) }),
  } as object);
  const user = await getUser(call, { userId: params.u });
  const links = await readLinks(request, user);
  const made = links.find(({ recoveryLinkId }) => recoveryLinkId === recoveryLink?.recoveryLinkId);
  const path = `/users/${user.id}/recovery`;
  const digits = [...spokenCode].join(' ');
  return {
    title: `Link and code for ${nameShortly(user)}`,
    section: 'users',
    body: html`${renderBreadcrumbs(['/users', 'Users'], [`/users/${user.id}`, isolate(user.name ?? showEmail(user.email))])}
<div>
<h1>Link and code for ${isolate(user.name ?? showEmail(user.email))}</h1>
<p class="soft">Shown once: a reload does not bring them back. Send the link one way, and say the digits another.</p>
</div>
<p class="alert note" role="status" tabindex="-1" data-path="${path}">The link is made. It works from ${renderMoment(made?.usableAt ?? null)} to ${renderMoment(made?.expiresAt ?? null)} UTC.</p>
<div class="two even">
${renderPanel(
  'link',
  '1. Send this link',
  html`<p class="item">${renderCopied(url, html`<code class="wrap">${url}</code>`)}</p>
<p class="item small soft">By chat, letter or another mailbox. A preview or scanner that opens it does no harm.</p>`,
)}
${renderPanel(
  'spoken',
  '2. Read out these digits',
  html`<p class="secret"><bdi aria-label="${digits}">${spokenCode}</bdi></p>
<p class="item small soft">By voice, when you know who it is. Five wrong tries end the link.</p>`,
)}
</div>
<div class="actions"><a class="button" href="/users/${user.id}">Done</a></div>
${renderLinks(links, user)}`,
  };
}

export const revokeRecoveryLinkByForm = createAction(
  revokeRecoveryLink,
  ({ form }) => ({ recoveryLinkId: form.get('recoveryLinkId') ?? '' }),
  ({ params }) => `/users/${params.u}/recovery?done=linkRevoked`,
);

interface ShownLink extends RecoveryLink {
  /** The address of the operator, or the name of the key. */
  readonly maker: string;
}

async function readLinks({ call, parts }: ConsoleRequest, user: User): Promise<readonly ShownLink[]> {
  const { rows } = await listRecoveryLinks(call, parts.pageTokens, { userId: user.id, pageSize: LISTED });
  // The name of a key is nobody's ID.
  const ids = [...new Set(rows.map(({ createdBy }) => createdBy))];
  const operators = await Promise.all(ids.map((userId) => getUser(call, { userId }).catch(() => undefined)));
  const names = new Map(operators.flatMap((operator) => (operator ? [[operator.id, operator.email]] : [])));
  return rows.map((row) => ({ ...row, maker: names.get(row.createdBy) ?? row.createdBy }));
}

function renderLinks(links: readonly ShownLink[], { id }: User): Html {
  const columns = [
    column('Made (UTC)', ({ createdAt }: ShownLink) => renderMoment(createdAt)),
    wideColumn('By', ({ maker }: ShownLink) =>
      maker.includes('@') ? renderAddress(maker) : html`key ${isolate(maker)}`,
    ),
    wideColumn('Removes when used', renderRemoves),
    column('State', ({ status }: ShownLink) => renderState(status)),
    actionsColumn((link: ShownLink) => (link.status === 'OPEN' ? renderRevoke(id, link) : '')),
  ];
  return renderPanel(
    'links',
    'Recovery links of this user',
    renderRows({ labelledBy: 'links', columns, rows: links, empty: 'There are none of the last 90 days.' }, 'table'),
    html`<p class="small soft">One at a time: a new link ends the one before.</p>`,
  );
}

function renderRemoves({ removes }: ShownLink): string {
  const list = removes.map((removal) => LABELS[removal as Removal] ?? removal).join(', ');
  return list === '' ? 'Nothing: first sign-in' : list.charAt(0).toUpperCase() + list.slice(1);
}

function renderState(status: ShownLink['status']): Html {
  const isTrouble = status === 'STOPPED' || status === 'FAILED';
  const text = status === 'FAILED' ? 'Wrong digits' : status.charAt(0) + status.slice(1).toLowerCase();
  return html`<span class="tag${isTrouble && ' warn'}">${text}</span>`;
}

function renderRevoke(userId: string, { recoveryLinkId, createdAt }: ShownLink): Html {
  return renderForm(
    `/users/${userId}/recovery/revoke`,
    html`<input type="hidden" name="recoveryLinkId" value="${recoveryLinkId}"><button class="quiet">Revoke<span class="hide"> the link of ${renderMoment(createdAt)}</span></button>`,
  );
}
