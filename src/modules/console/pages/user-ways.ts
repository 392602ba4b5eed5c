/** The ways to sign in of a user, each with the page that removes it. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import { showEmail } from '../../../config/email-address.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { listUserIdentities, type UserIdentity } from '../../../domain/identities/list-identities.ts';
import { listPasskeys, type Passkey } from '../../../domain/passkeys/list-passkeys.ts';
import { findSecondFactor, type SecondFactor } from '../../../domain/second-factor/find-second-factor.ts';
import { showYoung } from '../../../domain/users/counts-from.ts';
import { getUser } from '../../../domain/users/get-user.ts';
import type { User } from '../../../domain/users/user.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate, renderAddress } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { createAction, renderConfirmation } from '../parts/form.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import { renderId, renderMethodLabel, renderPanel } from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

interface Ways {
  readonly passkeys: readonly Passkey[];
  readonly identities: readonly UserIdentity[];
}

async function readWays({ call }: ConsoleRequest, userId: string): Promise<Ways> {
  const [passkeys, identities] = await Promise.all([
    listPasskeys(call, { userId }),
    listUserIdentities(call, { userId }),
  ]);
  return { passkeys: showYoung(passkeys, call.now), identities: showYoung(identities, call.now) };
}

export async function renderWays(request: ConsoleRequest, user: User): Promise<Html> {
  const { operator, parts } = request;
  const [{ passkeys, identities }, secondFactor] = await Promise.all([
    readWays(request, user.id),
    findSecondFactor(request.call, user.id),
  ]);
  const path = `/users/${user.id}`;
  const mayRemove = includesRole(operator.role, 'admin');
  const items = [
    ...(hasCodes(request) ? [renderWay('Code by e-mail', html`To ${renderAddress(user.email)}.`)] : []),
    ...passkeys.map(({ id, name, isBackedUp, createdAt, countsFrom, lastUsedAt }) =>
      renderWay(
        isolate(name),
        html`Passkey, added ${renderDay(createdAt)}, last used ${renderMoment(lastUsedAt, 'never')}.${renderCountsFromDay(countsFrom)}`,
        mayRemove && renderRemove(`${path}/passkeys/${id}/remove`, html`the passkey ${isolate(name)}`),
        isBackedUp ? 'Synced' : 'This device only',
      ),
    ),
    ...identities.map(({ provider, issuer, subject, createdAt, countsFrom }) =>
      renderWay(
        renderMethodLabel(parts, provider),
        html`Account ${isolate(subject)}, linked ${renderDay(createdAt)}.${renderCountsFromDay(countsFrom)}`,
        mayRemove &&
          renderRemove(
            `${path}/accounts/${[issuer, subject].map(encodeURIComponent).join('/')}/remove`,
            html`the account at ${renderMethodLabel(parts, provider)}`,
          ),
      ),
    ),
    ...(user.walletAddress === ''
      ? []
      : [
          renderWay(
            'Wallet',
            renderId(user.walletAddress),
            mayRemove && renderRemove(`${path}/wallet/remove`, html`the wallet`),
          ),
        ]),
    ...(secondFactor ? [renderFactor(secondFactor, mayRemove && `${path}/second-factor/reset`)] : []),
  ];
  const none = html`<p class="item soft">None.</p>`;
  return renderPanel('ways', 'Ways to sign in', html`${items.length > 0 ? items : none}`, false, 'panel tight');
}

/** @param reset where it is removed, if the operator may do that */
function renderFactor(
  { createdAt, lastUsedAt, countsFrom, recoveryCodesLeft: left }: SecondFactor,
  reset: string | false,
): Html {
  const about = html`Second factor, added ${renderDay(createdAt)}, last used ${renderMoment(lastUsedAt, 'never')}. Recovery codes left: ${String(left)}.`;
  return renderWay(
    'Authenticator app',
    countsFrom ? html`${about} Counts from ${renderDay(countsFrom)}.` : about,
    reset !== false && renderRemove(reset, html`the authenticator app`),
  );
}

function renderWay(name: Html | string, about: Html, remove: Html | false = false, tag?: string): Html {
  return html`<div class="item"><div><strong>${name}</strong>${tag !== undefined && html` <span class="tag">${tag}</span>`}<p>${about}</p></div>${remove}</div>\n`;
}

/** Until then, a sign-in with it has one factor. */
function renderCountsFromDay(countsFrom: Date | null): Html | false {
  return countsFrom !== null && html` Counts from ${renderDay(countsFrom)}.`;
}

function renderRemove(path: string, thing: Html): Html {
  return html`<a class="button danger" href="${path}">Remove…<span class="hide"> ${thing}</span></a>`;
}

function hasCodes({ parts }: ConsoleRequest): boolean {
  return parts.config.loginMethods.includes('email');
}

const LASTING = 'Sessions that began with it live on: end them on the page of the user.';

export async function showRemovePasskey(request: ConsoleRequest): Promise<ConsolePage> {
  const user = await getUser(request.call, { userId: request.params.u });
  const ways = await readWays(request, user.id);
  const passkey = ways.passkeys.find(({ id }) => id === request.params.p?.toLowerCase());
  if (!passkey) throw new ServiceError('PASSKEY_NOT_FOUND');
  return confirm(request, user, ways, {
    name: passkey.name,
    text: html`The passkey opens no application any more. The next passkey of the user counts at once. ${LASTING}`,
  });
}

export async function showRemoveIdentity(request: ConsoleRequest): Promise<ConsolePage> {
  const { call, params, parts } = request;
  const user = await getUser(call, { userId: params.u });
  const ways = await readWays(request, user.id);
  const identity = ways.identities.find(({ issuer, subject }) => issuer === params.i && subject === params.s);
  if (!identity) throw new ServiceError('USER_NOT_FOUND');
  const provider = parts.providers.nameOf(identity.provider) || identity.provider;
  return confirm(request, user, ways, {
    name: `the account at ${provider}`,
    text: html`The account ${isolate(identity.subject)} at ${isolate(provider)} opens no application any more. ${LASTING}`,
  });
}

export async function showResetFactor(request: ConsoleRequest): Promise<ConsolePage> {
  const user = await getUser(request.call, { userId: request.params.u });
  return confirm(request, user, await readWays(request, user.id), {
    name: 'the authenticator app',
    text: html`Sign-ins do not ask for it any more, its recovery codes stop working, and every sign-in of the user ends.`,
    keepsWays: true,
  });
}

export async function showRemoveWallet(request: ConsoleRequest): Promise<ConsolePage> {
  const user = await getUser(request.call, { userId: request.params.u });
  return confirm(request, user, await readWays(request, user.id), {
    name: 'the wallet',
    text: html`The wallet ${isolate(user.walletAddress)} opens no application any more. ${LASTING}`,
  });
}

function confirm(
  request: ConsoleRequest,
  user: User,
  { passkeys, identities }: Ways,
  { name, text, keepsWays = false }: { readonly name: string; readonly text: Html; readonly keepsWays?: boolean },
): ConsolePage {
  const left = passkeys.length + identities.length + (user.walletAddress === '' ? 0 : 1) - 1;
  const isLast = !keepsWays && left <= 0 && !hasCodes(request) && request.parts.config.authPageUrl === undefined;
  const shown = user.name ?? showEmail(user.email);
  const person = isolate(shown);
  return renderConfirmation(request, {
    title: `Remove ${name} of ${shown}`,
    heading: html`Remove ${isolate(name)} of ${person}`,
    section: 'users',
    text: html`${text}${isLast && html` <strong>${person} has no other way to sign in.</strong>`}`,
    name: false,
    submit: 'Remove',
    back: `/users/${user.id}`,
  });
}

const { deletePasskey, deleteUserIdentity, resetSecondFactor, updateUser } = AdminService.method;
const backToUser = ({ params }: ConsoleRequest) => `/users/${params.u}?done=way-removed`;

export const WAY_ACTIONS = {
  passkey: createAction(deletePasskey, ({ params }) => ({ userId: params.u, passkeyId: params.p }), backToUser),
  factor: createAction(resetSecondFactor, ({ params }) => ({ userId: params.u }), backToUser),
  identity: createAction(
    deleteUserIdentity,
    ({ params }) => ({ userId: params.u, issuer: params.i, subject: params.s }),
    backToUser,
  ),
  wallet: createAction(updateUser, ({ params }) => ({ userId: params.u, walletAddress: '' }), backToUser),
};
