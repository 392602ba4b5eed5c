/** Wrong answers in place of a right one, each of which is impossible after the operations before it. */
import { SIGN_IN_BY_PROVIDER } from '../browser-model.ts';
import { type Answer, answerOf, type Operation, type Outcome, refusalOf } from '../operation.ts';

export interface Flip {
  /** The same for all flips of a class. */
  readonly name: string;
  readonly outcome: Outcome;
}

const OTHER_INSTANT = '2027-01-01T00:00:00Z';

/** Returns every flip of the operation. */
export function flipsOf(operation: Operation, before: readonly Operation[]): Flip[] {
  const method = methodOf(operation.rpc);
  const [answer, refusal] = [answerOf(operation), refusalOf(operation)];
  const outcomes: Readonly<Record<string, Outcome | undefined>> = answer
    ? { ...refuseInstead(method), ...changeAnswer(operation, answer, before) }
    : { ...answerInstead(method, before), ...swapRefusal(method, refusal) };
  return Object.entries(outcomes).flatMap(([name, outcome]) =>
    outcome ? { name: `${method}: ${name}`, outcome } : [],
  );
}

const REFUSALS: Readonly<Record<string, readonly string[]>> = {
  CreateEvent: ['Event already exists'],
  GetEvent: ['Event not found'],
  DeleteEvent: ['Event not found'],
  CheckIn: ['Event not found'],
  UndoCheckIn: ['Event not found', 'Check-in not found'],
  ListCheckIns: ['Event not found'],
  GetWebhook: ['Webhook not found'],
  UpdateWebhook: ['Webhook not found'],
  DeleteWebhook: ['Webhook not found'],
  RotateSigningKey: ['Webhook not found'],
  CompleteLogin: ['User not found'],
  ExchangeToken: ['Invalid or expired token', 'User not found'],
  RenewSession: ['Session expired'],
  'oidc/token': ['invalid_grant'],
  'login/wallet': ['Sign in'],
  'login/passkey': ['Sign in'],
  'login/passkey/new': ['Sign in'],
  DeletePasskey: ['Passkey not found'],
  CreateRecoveryLink: ['User not active'],
  Use: ['This link cannot be used'],
  'account/email/code': ['Your account'],
  'account/undo': ['This link does not work any more'],
};

function refuseInstead(method: string): Record<string, Outcome> {
  return Object.fromEntries((REFUSALS[method] ?? []).map((refusal) => [`"${refusal}" for success`, { refusal }]));
}

function swapRefusal(method: string, refusal: string | undefined): Record<string, Outcome> {
  const others = (REFUSALS[method] ?? []).filter((other) => other !== refusal);
  return Object.fromEntries(others.map((other) => [`"${other}" for "${refusal}"`, { refusal: other }]));
}

function answerInstead(method: string, before: readonly Operation[]): Record<string, Outcome> {
  const last = before.findLast(
    ({ rpc, outcome }) => rpc.endsWith(`/${method}`) && outcome !== 'unknown' && 'answer' in outcome,
  );
  const answers: Readonly<Record<string, Answer>> = {
    CreateEvent: { event: { eventId: 'event', createdAt: OTHER_INSTANT } },
    GetEvent: { event: { eventId: 'event', createdAt: OTHER_INSTANT } },
    CheckIn: { checkIn: { checkedInAt: OTHER_INSTANT } },
    CompleteLogin: { authToken: 'another' },
    ExchangeToken: { session: { id: 'another' } },
    RenewSession: { session: { id: 'another' } },
    'login/wallet': { remembered: 'another' },
    'login/passkey': { remembered: 'another' },
    'login/callback/*': { remembered: 'another' },
  };
  return { 'success for a refusal': { answer: (last && answerOf(last)) ?? answers[method] ?? {} } };
}

function changeAnswer(
  { rpc, subject }: Operation,
  answer: Answer,
  before: readonly Operation[],
): Record<string, Outcome | undefined> {
  const when = (isPossible: unknown, changed: Answer) =>
    isPossible ? { answer: { ...answer, ...changed } } : undefined;
  const { event, user, webhook, checkIns = [], session } = answer;
  const method = methodOf(rpc);
  if (method === 'GetUser' && subject.startsWith('address ')) {
    // The first answer tells the address.
    const isKnown = before.some(({ rpc: read }) => read === rpc);
    return { 'another address': when(isKnown, { user: { ...user, email: 'another' } }) };
  }
  // The models of sessions and grants leave profiles to that of users.
  if (user && !subject.startsWith('user ')) return {};
  switch (method) {
    case 'GetEvent':
      return {
        'another name': event && when(true, { event: { ...event, name: 'another' } }),
        'another instant': event && when(true, { event: { ...event, createdAt: OTHER_INSTANT } }),
      };
    case 'CheckIn':
      return {
        'a repetition for a first time': when(!answer.alreadyCheckedIn, { alreadyCheckedIn: true }),
        'a first time for a repetition': when(answer.alreadyCheckedIn, { alreadyCheckedIn: false }),
        'another instant': when(answer.alreadyCheckedIn, { checkIn: { checkedInAt: OTHER_INSTANT } }),
      };
    case 'ListCheckIns': {
      const stranger = { attendeeId: 'eve', checkedInAt: OTHER_INSTANT };
      return {
        'one is missing': when(checkIns.length > 0, { checkIns: checkIns.slice(1) }),
        'one too many': when(true, { checkIns: [...checkIns, stranger] }),
        'another attendee': when(checkIns.length > 0, { checkIns: [...checkIns.slice(1), stranger] }),
        'another instant': when(checkIns.length > 0, {
          checkIns: checkIns.map((checkIn) => ({ ...checkIn, checkedInAt: OTHER_INSTANT })),
        }),
      };
    }
    case 'GetUser':
    case 'UpdateUser':
    case 'DeactivateUser':
    case 'ReactivateUser': {
      const { deactivatedAt: _, ...active } = user ?? {};
      return {
        'another name': when(true, { user: { ...user, name: 'another' } }),
        'active for deactivated': when(user?.deactivatedAt, { user: active }),
        'deactivated for active': when(!user?.deactivatedAt, { user: { ...user, deactivatedAt: OTHER_INSTANT } }),
        'another instant': when(method === 'GetUser' && user?.deactivatedAt, {
          user: { ...user, deactivatedAt: OTHER_INSTANT },
        }),
      };
    }
    case 'GetWebhook':
    case 'UpdateWebhook':
    case 'RotateSigningKey': {
      const former = before.flatMap((operation) => answerOf(operation)?.webhook?.signingKey ?? []);
      const other = former.find((signingKey) => signingKey !== webhook?.signingKey);
      return {
        'a key of before': webhook && when(other, { webhook: { ...webhook, signingKey: other ?? '' } }),
        'another description': webhook && when(true, { webhook: { ...webhook, description: 'another' } }),
        'the other activity': webhook && when(true, { webhook: { ...webhook, isActive: !webhook.isActive } }),
      };
    }
    case 'ExchangeToken':
    case 'RenewSession': {
      const told = before.flatMap((operation) => answerOf(operation)?.session?.id ?? []);
      const other = told.find((id) => id !== session?.id);
      return {
        'a new session for the live one': when(told.includes(session?.id ?? ''), { session: { id: 'another' } }),
        'a session of before': other ? when(true, { session: { id: other } }) : undefined,
      };
    }
    case 'login/continue':
    case 'oidc/authorize':
    case 'CheckSession':
      return {
        'inactive for active': when(answer.active, { active: false }),
        'active for inactive': when(!answer.active, { active: true }),
      };
    case 'ListUserGrants': {
      const { grants = [] } = answer;
      return {
        'one is missing': when(grants.length > 0, { grants: grants.slice(1) }),
        'one too many': when(true, { grants: [...grants, { grantId: 'another' }] }),
      };
    }
    case 'ListPasskeys': {
      const { passkeys = [] } = answer;
      return {
        'one is missing': when(passkeys.length > 0, { passkeys: passkeys.slice(1) }),
        'one too many': when(true, { passkeys: [...passkeys, { passkeyId: '', aaguid: 'another' }] }),
      };
    }
    case 'ListUserIdentities': {
      // A refused sign-in may have linked an account.
      const isKnown = before.every((operation) => operation.rpc !== SIGN_IN_BY_PROVIDER || answerOf(operation));
      return {
        'none for one': when(answer.identities?.length, { identities: [] }),
        'one for none': when(isKnown && !answer.identities?.length, { identities: [{ issuer: '', subject: '' }] }),
      };
    }
    case 'ListSessions':
      return {
        'none for one': when(answer.sessions, { sessions: [] }),
        'one for none': when(!answer.sessions, { sessions: [{}] }),
      };
    default:
      return {};
  }
}

function methodOf(rpc: string): string {
  return rpc.slice(rpc.indexOf('/') + 1);
}
