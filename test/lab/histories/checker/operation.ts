/** What the recorder keeps of a call, and what the checker reads. */

/** What calls are given: the fields of their requests that matter here. */
export interface Input {
  readonly eventId?: string;
  readonly attendeeId?: string;
  readonly name?: string;
  readonly description?: string;
  readonly isActive?: boolean;
  readonly authToken?: string;
  readonly sessionId?: string;
  readonly maxStalenessMs?: number;
  readonly grantId?: string;
  /** The number of a refresh token in its grant, from 1. */
  readonly rotation?: number;
  /** The remembered sign-in that the cookie of a browser has. */
  readonly remembered?: string;
  /** The AAGUID of a passkey: each has its own. */
  readonly passkey?: string;
  /** A sign-in after which a passkey can be added. */
  readonly proof?: string;
  readonly email?: string;
  /** A recovery link, and what its use removes. */
  readonly link?: string;
  readonly removes?: readonly string[];
  readonly scans?: readonly DoorScan[];
  /** A sign-in that waits for its second step, and the time step of an app's code or the number of a recovery code. */
  readonly held?: string;
  readonly code?: number;
}

export interface DoorScan {
  readonly scanId: string;
  readonly attendeeId: string;
  readonly alreadyAdmitted: boolean;
}

/** What they answer, as the JSON of Protobuf: false and empty lists are absent. */
export interface Answer {
  readonly event?: { readonly eventId: string; readonly name?: string; readonly createdAt: string };
  readonly events?: readonly { readonly eventId: string }[];
  readonly checkIn?: { readonly checkedInAt: string };
  readonly alreadyCheckedIn?: boolean;
  readonly checkIns?: readonly { readonly attendeeId: string; readonly checkedInAt: string; readonly gate?: string }[];
  readonly results?: readonly {
    readonly outcome: string;
    readonly reason?: string;
    readonly checkIn?: { readonly checkedInAt: string; readonly gate?: string };
  }[];
  readonly user?: {
    readonly id?: string;
    readonly name?: string;
    readonly email?: string;
    readonly deactivatedAt?: string;
  };
  readonly webhook?: {
    readonly webhookId: string;
    readonly description?: string;
    readonly isActive?: boolean;
    readonly signingKey?: string;
  };
  readonly webhooks?: readonly { readonly webhookId: string }[];
  readonly secondFactor?: object;
  readonly session?: { readonly id?: string };
  readonly sessions?: readonly unknown[];
  readonly active?: boolean;
  readonly authToken?: string;
  readonly loginIntentId?: string;
  readonly redirectUrl?: string;
  readonly remembered?: string;
  readonly passkeys?: readonly { readonly passkeyId: string; readonly aaguid: string }[];
  readonly identities?: readonly { readonly issuer: string; readonly subject: string }[];
  readonly grants?: readonly { readonly grantId: string }[];
  readonly apiKeyId?: string;
  readonly apiKey?: string;
  readonly recoveryLink?: { readonly recoveryLinkId: string };
  readonly url?: string;
  readonly spokenCode?: string;
  readonly apiKeys?: readonly { readonly apiKeyId: string }[];
}

/** Unknown: the caller cannot tell whether the call took effect, or will. */
export type Outcome = { readonly answer: Answer } | { readonly refusal: string } | 'unknown';

export interface Operation {
  /** The `x-request-id`, which the audit log has, too. */
  readonly id: string;
  /** The RPC, as `EventService/CreateEvent`. */
  readonly rpc: string;
  /** What it is about: a kind and an ID, as `event 4f1c`. */
  readonly subject: string;
  readonly replica: number;
  readonly input: Input;
  /** In milliseconds of one clock, as is `returnedAt`. */
  readonly calledAt: number;
  readonly returnedAt: number;
  readonly outcome: Outcome;
}

/** Something that must not be. */
export interface Violation {
  /** What is broken, in the same words each time. */
  readonly rule: string;
  readonly details: string;
}

const READS = /^GET \/oidc\/userinfo|\/(Get|List|Check(?!In))/;

/** Returns whether the call changes nothing. */
export function isRead({ rpc }: Pick<Operation, 'rpc'>): boolean {
  return READS.test(rpc);
}

export function answerOf({ outcome }: Pick<Operation, 'outcome'>): Answer | undefined {
  return outcome !== 'unknown' && 'answer' in outcome ? outcome.answer : undefined;
}

export function refusalOf({ outcome }: Pick<Operation, 'outcome'>): string | undefined {
  return outcome !== 'unknown' && 'refusal' in outcome ? outcome.refusal : undefined;
}

/** Returns the operations of a kind of subject, by subject. */
export function groupBySubject(operations: readonly Operation[], kind: string): Map<string, Operation[]> {
  return Map.groupBy(
    operations.filter(({ subject }) => subject.startsWith(`${kind} `)),
    ({ subject }) => subject,
  );
}

export function describeOperation({ rpc, replica, input, calledAt, returnedAt, outcome }: Operation): string {
  const interval = `${calledAt.toFixed(1)}-${returnedAt.toFixed(1)}`;
  const text = `${rpc} ${JSON.stringify(input)} -> ${JSON.stringify(outcome)}`;
  // The end of a token tells it from others.
  return `${interval} ms at ${replica}: ${text.replaceAll(/"(?:eyJ|u[ar]t_)[^"]*(.{8}")/g, '"...$1')}`;
}
