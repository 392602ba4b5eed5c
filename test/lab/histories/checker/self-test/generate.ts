/** Generates correct histories: of one call after the other, and of calls that overlap and may get no answer. */
import fc from 'fast-check';
import { CHANGE_ADDRESS, SIGN_IN_TO_ACCOUNT, UNDO } from '../address-model.ts';
import {
  ADD_PASSKEY,
  CONTINUE,
  CONTINUE_SILENTLY,
  FORGET,
  SIGN_IN,
  SIGN_IN_BY_PASSKEY,
  SIGN_IN_BY_PROVIDER,
} from '../browser-model.ts';
import { REVOKE, TOKEN } from '../grant-model.ts';
import { answerOf, type Input, isRead, type Operation } from '../operation.ts';
import { MAKE_LINK, REVOKE_LINK, USE_LINK } from '../recovery-model.ts';
import { EXPIRE, MAKE_DUE } from '../session-model.ts';
import { SimulatedUsher } from './simulated-usher.ts';

const RECOVERY = [MAKE_LINK, USE_LINK, USE_LINK, REVOKE_LINK] as const;

/** The calls about each kind of row. */
export const CALLS = {
  event: [
    ...['EventService/CreateEvent', 'EventService/GetEvent', 'EventService/DeleteEvent', 'EventService/CheckIn'],
    ...['EventService/CheckIn', 'EventService/CheckIn', 'EventService/UndoCheckIn', 'EventService/ListCheckIns'],
  ],
  user: [
    'AdminService/UpdateUser',
    'AdminService/GetUser',
    'AdminService/DeactivateUser',
    'AdminService/ReactivateUser',
  ],
  webhook: [
    ...['WebhookService/UpdateWebhook', 'WebhookService/GetWebhook', 'WebhookService/DeleteWebhook'],
    ...['WebhookService/RotateSigningKey', 'WebhookService/UpdateWebhook', 'WebhookService/GetWebhook'],
  ],
  session: [
    ...['AdminService/CompleteLogin', 'AuthService/ExchangeToken', 'AuthService/ExchangeToken', MAKE_DUE, EXPIRE],
    ...['SessionService/CheckSession', 'SessionService/RenewSession', 'SessionService/ListSessions'],
    ...['SessionService/RevokeSession', 'SessionService/RevokeUserSessions', 'AdminService/CompleteLogin'],
    ...['AuthService/ExchangeToken', 'SessionService/RenewSession', 'AdminService/DeactivateUser'],
    ...['AdminService/ReactivateUser', 'AdminService/ReactivateUser'],
    ...RECOVERY,
  ],
  grant: [
    ...['AdminService/CompleteLogin', TOKEN, TOKEN, TOKEN, TOKEN, 'AdminService/ListUserGrants', REVOKE],
    ...['SessionService/EndGrant', 'AdminService/EndUserGrant', 'SessionService/RevokeUserSessions'],
    ...['AdminService/EndUserSessions', 'AdminService/DeactivateUser', 'AdminService/ReactivateUser'],
    ...['AdminService/ReactivateUser', 'AdminService/CompleteLogin', TOKEN, TOKEN],
    ...RECOVERY,
  ],
  browser: [
    ...[SIGN_IN, SIGN_IN, CONTINUE, CONTINUE_SILENTLY, CONTINUE_SILENTLY, FORGET, 'SessionService/RevokeUserSessions'],
    ...['AdminService/EndUserSessions', 'AdminService/DeactivateUser', 'AdminService/ReactivateUser', SIGN_IN],
    ...['AdminService/ReactivateUser', SIGN_IN_BY_PASSKEY, SIGN_IN_BY_PROVIDER, ADD_PASSKEY, ADD_PASSKEY],
    ...['AdminService/ListPasskeys', 'AdminService/DeletePasskey', 'AdminService/ListUserIdentities'],
    ...['AdminService/DeleteUserIdentity', ...RECOVERY],
  ],
  address: [
    ...[SIGN_IN_TO_ACCOUNT, SIGN_IN_TO_ACCOUNT, CHANGE_ADDRESS, CHANGE_ADDRESS, CHANGE_ADDRESS, UNDO, UNDO],
    ...['AdminService/GetUser', 'AdminService/GetUser', 'AdminService/EndUserSessions'],
  ],
} as const;

/** What histories begin with, so that there is something to change. */
const OPENINGS = {
  event: [],
  user: [],
  webhook: ['WebhookService/CreateWebhook'],
  session: ['AdminService/CompleteLogin', 'AuthService/ExchangeToken', MAKE_DUE, MAKE_LINK],
  grant: ['AdminService/CompleteLogin', TOKEN, MAKE_LINK],
  browser: [SIGN_IN, MAKE_LINK],
  address: ['AdminService/GetUser', SIGN_IN_TO_ACCOUNT],
} as const;

export type Kind = keyof typeof CALLS;

/** A call that has yet to be made. */
interface Plan {
  readonly rpc: string;
  readonly calledAt: number;
  /** Between its call and its return, unless it has no answer. */
  readonly takesEffectAt: number;
  readonly returnedAt: number;
  readonly fate: 'answered' | 'lost answer' | 'lost call';
  /** What it chooses among, such as names. */
  readonly choice: number;
}

/** Generates histories of calls one after the other, all of them answered. */
export function sequential(kind: Kind): fc.Arbitrary<Operation[]> {
  return fc.array(fc.tuple(fc.constantFrom(...CALLS[kind]), fc.nat(99)), { minLength: 3, maxLength: 25 }).map((calls) =>
    simulate(
      kind,
      calls.map(([rpc, choice], at) => planNext(rpc, choice, at)),
    ),
  );
}

/** How many call at once. What waits with any of many others has too many possible orders to search. */
const CALLERS = 4;

/** How many answers are lost at most, as each such call may take effect at any later time. */
const MAX_LOST = 4;

/** Generates histories of several callers, some of whose calls get no answer, whether or not they take effect. */
export function concurrent(kind: Kind): fc.Arbitrary<Operation[]> {
  const call = fc.record({
    rpc: fc.constantFrom<string>(...CALLS[kind]),
    caller: fc.nat(CALLERS - 1),
    pause: fc.nat(12),
    delay: fc.nat(12),
    lateness: fc.nat(12),
    fate: fc.constantFrom('answered', 'answered', 'answered', 'answered', 'lost answer', 'lost call'),
    choice: fc.nat(99),
  });
  return fc.array(call, { minLength: 3, maxLength: 30 }).map((calls) => {
    const freeAt = new Array<number>(CALLERS).fill(0);
    let lost = 0;
    const plans = calls.map(({ rpc, caller, pause, delay, lateness, fate, choice }, at): Plan => {
      const calledAt = (freeAt[caller] ?? 0) + pause;
      // No two at once: the order of effects is that of the simulation.
      const takesEffectAt = calledAt + delay + at / 100;
      const returnedAt = takesEffectAt + lateness;
      freeAt[caller] = returnedAt + 0.5;
      const isAnswered = fate === 'answered' || lost++ >= MAX_LOST;
      return { rpc, calledAt, takesEffectAt, returnedAt, fate: isAnswered ? 'answered' : fate, choice };
    });
    return simulate(kind, plans);
  });
}

export function planNext(rpc: string, choice: number, at: number): Plan {
  return { rpc, calledAt: at, takesEffectAt: at + 0.25, returnedAt: at + 0.5, fate: 'answered', choice };
}

/** Makes the calls in the order in which they take effect. `loses` tells whether a change is lost. */
export function simulate(
  kind: Kind,
  plans: readonly Plan[],
  loses: (usher: SimulatedUsher, rpc: string, input: Input, number: number) => boolean = () => false,
): Operation[] {
  const usher = new SimulatedUsher();
  const made: Operation[] = [];
  const opening = OPENINGS[kind].map((rpc, at, { length }) => ({
    ...planNext(rpc, 0, at - length),
    number: at - length,
  }));
  const later = plans.map((plan, number) => ({ ...plan, number }));
  const inOrder = [...opening, ...later].sort((a, b) => a.takesEffectAt - b.takesEffectAt);
  for (const { rpc, calledAt, returnedAt, fate, choice, number } of inOrder) {
    const known = made.filter((operation) => operation.returnedAt < calledAt);
    const choose =
      { grant: chooseGrant, browser: chooseOfBrowser, address: chooseOfAddress }[kind as string] ?? chooseInput;
    const input = chooseLink(kind, rpc, choice, known) ?? choose(rpc, choice, known, number);
    const operation = { id: String(number), rpc, subject: `${kind} 1`, replica: 0, input, calledAt };
    const outcome = fate === 'lost call' ? undefined : usher.call(rpc, input, loses(usher, rpc, input, number));
    if (outcome && fate === 'answered') made.push({ ...operation, returnedAt, outcome });
    else if (!isRead(operation)) made.push({ ...operation, returnedAt: Number.POSITIVE_INFINITY, outcome: 'unknown' });
  }
  return made.sort((a, b) => a.calledAt - b.calledAt);
}

const REMOVES = [['PASSKEYS', 'IDENTITIES'], ['PASSKEYS'], ['IDENTITIES']];

/** A person knows the links that operators have been told. Returns undefined for a call that is about none. */
function chooseLink(kind: Kind, rpc: string, choice: number, known: readonly Operation[]): Input | undefined {
  if (rpc === MAKE_LINK) return kind === 'browser' ? { removes: REMOVES[choice % 3] ?? [] } : {};
  if (rpc !== USE_LINK && rpc !== REVOKE_LINK) return undefined;
  const made = known.filter((operation) => operation.rpc === MAKE_LINK && answerOf(operation));
  const chosen = made.at(-1 - (choice % 3)) ?? made.at(-1);
  const link = (chosen && answerOf(chosen)?.recoveryLink?.recoveryLinkId) ?? 'unknown';
  return rpc === USE_LINK ? { ...chosen?.input, link } : { link };
}

/** A caller knows tokens and sessions from answers that it has. */
function chooseInput(rpc: string, choice: number, known: readonly Operation[]): Input {
  const tokens = known.flatMap((operation) => answerOf(operation)?.authToken ?? []);
  const sessionIds = known.flatMap((operation) => answerOf(operation)?.session?.id ?? []);
  const newest = (values: readonly string[]) => values.at(-1 - (choice % 3)) ?? values.at(-1) ?? 'unknown';
  switch (rpc.slice(rpc.indexOf('/') + 1)) {
    case 'CreateEvent':
    case 'UpdateUser':
      return { name: `name ${choice}` };
    case 'CheckIn':
    case 'UndoCheckIn':
      return { attendeeId: ['ada', 'bob'][choice % 2] ?? '' };
    case 'UpdateWebhook':
      return choice % 2 === 0 ? { description: `description ${choice}` } : { isActive: choice % 4 === 1 };
    case 'ExchangeToken':
      return { authToken: newest(tokens) };
    case 'CheckSession':
      return { sessionId: newest(sessionIds), maxStalenessMs: 0 };
    case 'RenewSession':
    case 'RevokeSession':
      return { sessionId: newest(sessionIds) };
    default:
      return {};
  }
}

/** A caller knows the codes and refresh tokens that it has got. */
function chooseGrant(rpc: string, choice: number, known: readonly Operation[], number: number): Input {
  const newest = <T>(values: readonly T[]) => values.at(-1 - (choice % 3)) ?? values.at(-1);
  const answered = known.filter(answerOf);
  const logins = answered.filter((operation) => operation.rpc.endsWith('/CompleteLogin'));
  const redeemed = answered.filter((operation) => operation.rpc === TOKEN);
  switch (rpc) {
    case 'AdminService/CompleteLogin':
      return { grantId: `grant ${number}` };
    case TOKEN: {
      const isRedeemed = (grantId = '') => redeemed.some(({ input }) => input.grantId === grantId);
      const { input } = logins.findLast((login) => !isRedeemed(login.input.grantId)) ?? logins.at(-1) ?? {};
      const token = choice % 2 === 0 ? undefined : choice % 4 === 1 ? redeemed.at(-1) : newest(redeemed);
      if (!token) return { grantId: input?.grantId ?? 'unknown' };
      return { grantId: token.input.grantId ?? '', rotation: (token.input.rotation ?? 0) + 1 };
    }
    case REVOKE:
    case 'SessionService/EndGrant':
    case 'AdminService/EndUserGrant':
      return { grantId: newest(logins)?.input.grantId ?? 'unknown' };
    default:
      return {};
  }
}

/** A person knows the browser's sign-ins, and has the passkeys that were made. */
function chooseOfBrowser(rpc: string, choice: number, known: readonly Operation[], number: number): Input {
  const newest = (values: readonly string[]) => values.at(-1 - (choice % 3)) ?? values.at(-1) ?? 'unknown';
  const remembered = known.flatMap((operation) => answerOf(operation)?.remembered ?? []);
  const passkeys = known.flatMap(({ rpc: made, input }) => (made === ADD_PASSKEY ? (input.passkey ?? []) : []));
  const proofs = known
    .filter(answerOf)
    .flatMap(
      ({ rpc: made, input }) => (made === SIGN_IN ? input.proof : made === USE_LINK ? input.link : undefined) ?? [],
    );
  switch (rpc) {
    case SIGN_IN:
      return { remembered: newest(remembered), proof: `proof ${number}` };
    case SIGN_IN_BY_PASSKEY:
      return { remembered: newest(remembered), passkey: newest(passkeys) };
    case SIGN_IN_BY_PROVIDER:
    case FORGET:
      return { remembered: newest(remembered) };
    case ADD_PASSKEY:
      return { passkey: `passkey ${number}`, proof: newest(proofs) };
    case CONTINUE:
    case CONTINUE_SILENTLY:
      return { remembered: remembered.at(-1 - choice) ?? remembered.at(-1) ?? 'unknown' };
    case 'AdminService/DeletePasskey':
      return { passkey: newest(passkeys) };
    default:
      return {};
  }
}

/** A person knows the sign-ins of the browsers, and the links in the notices of changes. */
function chooseOfAddress(rpc: string, choice: number, known: readonly Operation[], number: number): Input {
  const of = (made: string) => known.filter((operation) => operation.rpc === made && answerOf(operation));
  const newest = <T>(values: readonly T[]) => values.at(-1 - (choice % 3)) ?? values.at(-1);
  switch (rpc) {
    case SIGN_IN_TO_ACCOUNT:
      return { proof: `proof ${number}` };
    case CHANGE_ADDRESS:
      return { proof: newest(of(SIGN_IN_TO_ACCOUNT))?.input.proof ?? 'unknown', email: `address ${number}` };
    case UNDO:
      return { email: newest(of(CHANGE_ADDRESS))?.input.email ?? 'unknown' };
    default:
      return {};
  }
}
