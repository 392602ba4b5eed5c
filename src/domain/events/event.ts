import { events } from '../../database/schema.ts';

export interface Event {
  readonly eventId: string;
  readonly name: string | null;
  readonly createdAt: Date;
}

export const eventColumns = { eventId: events.id, name: events.name, createdAt: events.createdAt };
