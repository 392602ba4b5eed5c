/** What webhooks can subscribe to. */
export const EVENT_TYPES = [
  'session.created',
  'session.revoked',
  'user.created',
  'user.updated',
  'user.deactivated',
  'user.deleted',
  'event.created',
  'event.deleted',
  'check_in.created',
  'check_in.undone',
  'webhook.test',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Subscribes to every type, also to types that are to come. */
export const EVERY_TYPE = '*';

/** Tells an endpoint for back-channel logout, and no webhook, that a user has been signed out. */
export const LOGOUT = 'logout';
