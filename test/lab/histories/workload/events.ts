import { randomUUID } from 'node:crypto';
import { pick, pickWeighted } from './random.ts';
import { type Actor, callAny, type Scene } from './scene.ts';

const EVENTS = 4;
/** After so many calls another event takes its place. */
const CALLS = 60;
const ATTENDEES = ['ada', 'bob', 'eve'];
const CALL_WEIGHTS = {
  CreateEvent: 2,
  GetEvent: 20,
  CheckIn: 25,
  UndoCheckIn: 18,
  ListCheckIns: 20,
  DeleteEvent: 2,
};

interface LiveEvent {
  readonly eventId: string;
  calls: number;
}

/** Calls about events and their check-ins, and lists of the events. */
export class Events implements Actor {
  readonly #scene: Scene;
  readonly #events = Array.from({ length: EVENTS }, nameEvent);

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async step(): Promise<void> {
    if (Math.random() < 0.05) return this.#list();
    const at = Math.floor(Math.random() * EVENTS);
    const event = this.#events[at] ?? nameEvent();
    event.calls++;
    const { eventId } = event;
    if (event.calls > CALLS) {
      this.#events[at] = nameEvent();
      await this.#call('DeleteEvent', eventId);
      return;
    }
    await this.#call(event.calls < 3 ? 'CreateEvent' : pickWeighted(CALL_WEIGHTS), eventId);
  }

  async #call(method: keyof typeof CALL_WEIGHTS, eventId: string): Promise<void> {
    const more =
      method === 'CreateEvent'
        ? { name: randomUUID() }
        : method === 'CheckIn' || method === 'UndoCheckIn'
          ? { attendeeId: pick(ATTENDEES) }
          : {};
    await callAny(this.#scene, {
      rpc: `EventService/${method}`,
      subject: `event ${eventId}`,
      input: { eventId, ...more },
    });
  }

  /** The events that are not deleted fit on a page. */
  async #list(): Promise<void> {
    await callAny(this.#scene, { rpc: 'EventService/ListEvents', subject: 'list events', request: { pageSize: 100 } });
  }
}

function nameEvent(): LiveEvent {
  return { eventId: randomUUID(), calls: 0 };
}
