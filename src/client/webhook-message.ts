/** The messages of webhooks, by their type. */

/** A user as applications see them. */
export interface WebhookUser {
  readonly id: string;
  readonly email: string;
  readonly name?: string;
  readonly profileImage?: string;
  readonly walletAddress: string;
  readonly isActive: boolean;
  /** ISO 8601, like all instants. Absent for a user who has not signed in yet. */
  readonly firstSignedInAt?: string;
}

interface Event {
  readonly eventId: string;
  readonly name?: string;
  readonly createdAt: string;
  readonly startsAt?: string;
  readonly endsAt?: string;
  readonly capacity?: number;
  readonly admission?: 'ANYONE' | 'LISTED';
}

/** The shape of `data` for each type of message. */
export interface WebhookData {
  readonly 'session.created': {
    readonly userId: string;
    readonly user: Pick<WebhookUser, 'email' | 'name' | 'profileImage' | 'walletAddress'>;
    readonly createdAt: string;
    readonly expiresAt: string;
    readonly ipAddress: string;
    readonly userAgent: string;
    readonly method: string;
    /** Who of your support has signed in as the user. */
    readonly onBehalfBy?: string;
  };
  readonly 'session.revoked': { readonly userId: string };
  readonly 'user.created': WebhookUser;
  readonly 'user.updated': WebhookUser;
  readonly 'user.deactivated': WebhookUser;
  readonly 'user.deleted': { readonly id: string };
  readonly 'event.created': Event;
  readonly 'event.updated': Event;
  readonly 'event.deleted': Event & { readonly deletedAt: string };
  readonly 'check_in.created': {
    readonly eventId: string;
    readonly attendeeId: string;
    readonly checkedInAt: string;
    /** When the attendee came, by the clock of the scanner. */
    readonly occurredAt?: string;
    readonly gate?: string;
  };
  readonly 'check_in.undone': { readonly eventId: string; readonly attendeeId: string };
  readonly 'webhook.test': { readonly webhookId: string };
}

interface Message<Type extends keyof WebhookData> {
  /** The same for every attempt, so that receivers can handle a message once. */
  readonly id: string;
  readonly type: Type;
  /** When the change happened, in ISO 8601. */
  readonly timestamp: string;
  readonly data: WebhookData[Type];
}

/** Compare `type` to narrow `data`. A webhook for `*` also gets types that a later version of Usher adds. */
export type WebhookMessage = { [Type in keyof WebhookData]: Message<Type> }[keyof WebhookData];
