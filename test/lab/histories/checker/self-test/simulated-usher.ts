/** A correct Usher of one event, one user, one webhook and the sessions, grants and browsers of one user, in memory. It knows no model. */
import type { Answer, Input, Outcome } from '../operation.ts';
import { EXPIRE, MAKE_DUE } from '../session-model.ts';

interface Rows {
  ids: number;
  event?: { name?: string | undefined; createdAt: string; isDeleted: boolean; checkIns: Record<string, string> };
  user: { name?: string | undefined; email: string; deactivatedAt?: string | undefined };
  /** Those of the address, with whether the link of each is void. */
  changes: { from: string; to: string; isVoid: boolean }[];
  webhook?: { description?: string | undefined; isActive: boolean; signingKey: string } | undefined;
  tokens: string[];
  /** Those that live, the newest last. */
  sessions: string[];
  expired: string[];
  isDue: boolean;
  codes: string[];
  /** The number of the latest refresh token of each. */
  grants: Record<string, number>;
  remembered: string[];
  proofs: string[];
  passkeys: string[];
  isLinked: boolean;
  openLink?: string | undefined;
}

export class SimulatedUsher {
  #rows: Rows = {
    ...{ expired: [], proofs: [], passkeys: [], isLinked: false },
    ids: 0,
    user: { email: 'first' },
    changes: [],
    tokens: [],
    sessions: [],
    isDue: false,
    codes: [],
    grants: {},
    remembered: [],
  };

  /** Answers. With `isLost` it answers as if it had made the change. */
  call(rpc: string, input: Input, isLost = false): Outcome {
    const rows = structuredClone(this.#rows);
    const outcome = CALLS[rpc.slice(rpc.indexOf('/') + 1)]?.(rows, input);
    if (!outcome) throw new Error(`Nobody simulates ${rpc}`);
    // IDs are never given out again.
    this.#rows = isLost ? { ...this.#rows, ids: rows.ids } : rows;
    return outcome;
  }

  /** Returns whether the call would change something. */
  wouldChange(rpc: string, input: Input): boolean {
    const copy = new SimulatedUsher();
    copy.#rows = { ...structuredClone(this.#rows), ids: 0 };
    const before = JSON.stringify(copy.#rows);
    copy.call(rpc, input);
    return JSON.stringify({ ...copy.#rows, ids: 0 }) !== before;
  }
}

const answer = (answer: Answer): Outcome => ({ answer });
const refuse = (refusal: string): Outcome => ({ refusal });
const instant = (rows: Rows) => `2026-01-01T00:00:00.${String(++rows.ids).padStart(3, '0')}Z`;

const CALLS: Readonly<Record<string, (rows: Rows, input: Input) => Outcome>> = {
  CreateEvent(rows, { name }) {
    if (rows.event) return refuse('Event already exists');
    rows.event = { name, createdAt: instant(rows), isDeleted: false, checkIns: {} };
    return showEvent(rows.event);
  },
  GetEvent: ({ event }) => (event && !event.isDeleted ? showEvent(event) : refuse('Event not found')),
  DeleteEvent({ event }) {
    if (!event || event.isDeleted) return refuse('Event not found');
    event.isDeleted = true;
    return answer({});
  },
  CheckIn(rows, { attendeeId = '' }) {
    const { event } = rows;
    if (!event || event.isDeleted) return refuse('Event not found');
    const before = event.checkIns[attendeeId];
    const checkedInAt = before ?? instant(rows);
    event.checkIns[attendeeId] = checkedInAt;
    return answer({ checkIn: { checkedInAt }, ...(before !== undefined && { alreadyCheckedIn: true }) });
  },
  UndoCheckIn({ event }, { attendeeId = '' }) {
    if (!event || event.isDeleted) return refuse('Event not found');
    if (!event.checkIns[attendeeId]) return refuse('Check-in not found');
    delete event.checkIns[attendeeId];
    return answer({});
  },
  ListCheckIns({ event }) {
    if (!event || event.isDeleted) return refuse('Event not found');
    const checkIns = Object.entries(event.checkIns).map(([attendeeId, checkedInAt]) => ({ attendeeId, checkedInAt }));
    return answer(checkIns.length > 0 ? { checkIns } : {});
  },

  GetUser: ({ user }) => showUser(user),
  UpdateUser({ user }, { name }) {
    user.name = name;
    return showUser(user);
  },
  DeactivateUser(rows) {
    rows.user.deactivatedAt ??= instant(rows);
    endAll(rows);
    return showUser(rows.user);
  },
  ReactivateUser({ user }) {
    user.deactivatedAt = undefined;
    return showUser(user);
  },

  CreateWebhook(rows, { description }) {
    rows.webhook = { description, isActive: true, signingKey: `key ${++rows.ids}` };
    return showWebhook(rows.webhook);
  },
  RotateSigningKey(rows) {
    if (rows.webhook) rows.webhook.signingKey = `key ${++rows.ids}`;
    return showWebhook(rows.webhook);
  },
  GetWebhook: ({ webhook }) => showWebhook(webhook),
  UpdateWebhook({ webhook }, input) {
    Object.assign(webhook ?? {}, input);
    return showWebhook(webhook);
  },
  DeleteWebhook(rows) {
    if (!rows.webhook) return refuse('Webhook not found');
    rows.webhook = undefined;
    return answer({});
  },

  CompleteLogin(rows, { grantId }) {
    if (rows.user.deactivatedAt) return refuse('User not found');
    if (grantId !== undefined) {
      rows.codes.push(grantId);
      return answer({ redirectUrl: 'https://app.test/callback' });
    }
    const authToken = `token ${++rows.ids}`;
    rows.tokens.push(authToken);
    return answer({ authToken });
  },
  ExchangeToken(rows, { authToken = '' }) {
    if (rows.user.deactivatedAt) return refuse('User not found');
    if (!rows.tokens.includes(authToken)) return refuse('Invalid or expired token');
    if (rows.sessions.length === 0) rows.sessions = [`session ${++rows.ids}`];
    return showNewest(rows);
  },
  RenewSession(rows, { sessionId = '' }) {
    if (![...rows.expired, ...rows.sessions].includes(sessionId)) return refuse('Session expired');
    if (rows.sessions.length === 0) rows.sessions.push(`session ${++rows.ids}`);
    if (rows.isDue && rows.sessions.at(-1) === sessionId) {
      rows.sessions.push(`session ${++rows.ids}`);
      rows.isDue = false;
    }
    return showNewest(rows);
  },
  CheckSession: ({ sessions }, { sessionId = '' }) => answer(sessions.includes(sessionId) ? { active: true } : {}),
  ListSessions: ({ sessions }) => answer(sessions.length > 0 ? { sessions: [{}] } : {}),
  RevokeSession(rows, { sessionId = '' }) {
    if ([...rows.expired, ...rows.sessions].includes(sessionId)) endAll(rows);
    return answer({});
  },
  RevokeUserSessions(rows) {
    endAll(rows);
    return answer({});
  },
  EndUserSessions(rows) {
    endAll(rows);
    return answer({});
  },

  'oidc/token'(rows, { grantId = '', rotation }) {
    const { [grantId]: latest } = rows.grants;
    if (rotation === undefined) {
      if (!rows.codes.includes(grantId)) return refuse('invalid_grant');
      rows.codes = rows.codes.filter((code) => code !== grantId);
      rows.grants[grantId] = 1;
    } else if (latest === rotation) {
      rows.grants[grantId] = rotation + 1;
    } else if (latest !== rotation + 1) {
      delete rows.grants[grantId];
      return refuse('invalid_grant');
    }
    return answer({});
  },
  'login/wallet'(rows, input) {
    if (rows.user.deactivatedAt) return refuse('Sign in');
    if (input.proof) rows.proofs.push(input.proof);
    return signIn(rows, input);
  },
  'login/passkey'(rows, input) {
    const isKnown = !rows.user.deactivatedAt && rows.passkeys.includes(input.passkey ?? '');
    return isKnown ? signIn(rows, input) : refuse('Sign in');
  },
  'login/callback/*'(rows, input) {
    if (rows.user.deactivatedAt) return refuse('Sign in');
    rows.isLinked = true;
    return signIn(rows, input);
  },
  'login/passkey/new'({ passkeys, proofs }, { passkey = '', proof = '' }) {
    if (!proofs.includes(proof)) return refuse('Sign in');
    passkeys.push(passkey);
    return answer({});
  },
  ListPasskeys: ({ passkeys }) => answer({ passkeys: passkeys.map((aaguid) => ({ passkeyId: '', aaguid })) }),
  DeletePasskey(rows, { passkey = '' }) {
    if (!rows.passkeys.includes(passkey)) return refuse('Passkey not found');
    rows.passkeys = rows.passkeys.filter((each) => each !== passkey);
    return answer({});
  },
  ListUserIdentities: ({ isLinked }) => answer(isLinked ? { identities: [{ issuer: '', subject: '' }] } : {}),
  DeleteUserIdentity(rows) {
    rows.isLinked = false;
    return answer({});
  },
  CreateRecoveryLink(rows) {
    if (rows.user.deactivatedAt) return refuse('User not active');
    rows.openLink = `link ${++rows.ids}`;
    return answer({ recoveryLink: { recoveryLinkId: rows.openLink } });
  },
  RevokeRecoveryLink(rows, { link }) {
    if (rows.openLink === link) rows.openLink = undefined;
    return answer({});
  },
  Use(rows, { link = '', removes }) {
    if (rows.user.deactivatedAt || rows.openLink !== link) return refuse('This link cannot be used');
    endAll(rows);
    // The other kinds have neither passkeys nor identities.
    Object.assign(rows, { openLink: undefined, proofs: removes ? [link] : [] });
    if (removes?.includes('PASSKEYS')) rows.passkeys = [];
    if (removes?.includes('IDENTITIES')) rows.isLinked = false;
    return answer({});
  },

  'login/continue': continueLogin,
  'oidc/authorize': continueLogin,
  'login/forget': forget,

  'account/email/code'({ changes, proofs, user }, { email = '', proof = '' }) {
    if (!proofs.includes(proof)) return refuse('Your account');
    changes.push({ from: user.email, to: email, isVoid: false });
    user.email = email;
    return answer({});
  },
  'account/undo'(rows, { email }) {
    const at = rows.changes.findIndex(({ to }) => to === email);
    const change = rows.changes[at];
    const isRepeated = change?.isVoid && change.from === rows.user.email;
    if (!change || (change.isVoid && !isRepeated)) return refuse('This link does not work any more');
    for (const later of rows.changes.slice(at)) later.isVoid = true;
    rows.user.email = change.from;
    endAll(rows);
    return answer({});
  },

  'oidc/revoke': endGrant,
  EndGrant: endGrant,
  EndUserGrant: endGrant,
  ListUserGrants: ({ grants }) => answer({ grants: Object.keys(grants).map((grantId) => ({ grantId })) }),

  [EXPIRE.slice(EXPIRE.indexOf('/') + 1)](rows) {
    rows.expired.push(...rows.sessions);
    Object.assign(rows, { sessions: [], isDue: false });
    return answer({});
  },
  [MAKE_DUE.slice(MAKE_DUE.indexOf('/') + 1)](rows) {
    rows.isDue = rows.sessions.length > 0;
    return answer({});
  },
};

function endAll(rows: Rows): void {
  Object.assign(rows, {
    tokens: [],
    sessions: [],
    expired: [],
    isDue: false,
    codes: [],
    grants: {},
    remembered: [],
    proofs: [],
  });
}

function signIn(rows: Rows, input: Input): Outcome {
  forget(rows, input);
  const remembered = `sign-in ${++rows.ids}`;
  rows.remembered.push(remembered);
  return answer({ remembered });
}

function continueLogin(rows: Rows, { remembered = '' }: Input): Outcome {
  return answer(rows.remembered.includes(remembered) ? { active: true } : {});
}

function forget(rows: Rows, { remembered }: Input): Outcome {
  rows.remembered = rows.remembered.filter((each) => each !== remembered);
  return answer({});
}

function endGrant({ grants }: Rows, { grantId = '' }: Input): Outcome {
  delete grants[grantId];
  return answer({});
}

function showEvent({ name, createdAt }: NonNullable<Rows['event']>): Outcome {
  return answer({ event: { eventId: 'event', createdAt, ...(name !== undefined && { name }) } });
}

function showUser({ name, email, deactivatedAt }: Rows['user']): Outcome {
  return answer({ user: { email, ...(name !== undefined && { name }), ...(deactivatedAt && { deactivatedAt }) } });
}

function showWebhook(webhook: Rows['webhook']): Outcome {
  if (!webhook) return refuse('Webhook not found');
  const { description, isActive, signingKey } = webhook;
  const shown = { webhookId: 'webhook', signingKey, ...(description !== undefined && { description }) };
  return answer({ webhook: { ...shown, ...(isActive && { isActive }) } });
}

function showNewest({ sessions }: Rows): Outcome {
  return answer({ session: { id: sessions.at(-1) ?? '' } });
}
