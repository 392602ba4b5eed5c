/** Devices at the doors of events, which collect scans without a network and upload them, while operators undo and delete. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CAPACITY } from '../checker/door-model.ts';
import type { DoorScan } from '../checker/operation.ts';
import { pick, pickWeighted } from './random.ts';
import { callAny, type Scene } from './scene.ts';

const DEVICES = 2;
const EVENTS = 3;
/** After so many calls another event takes its place. */
const CALLS = 40;
const ATTENDEES = ['ada', 'bob', 'eve', 'joan'];
const PAUSE_MS = 25;
/** How often a device sends scans again that got no answer. */
const TRIES = 5;

type DoorScene = Pick<Scene, 'recorder' | 'replicas'> & { readonly createEvent: (eventId: string) => Promise<void> };

interface LiveEvent {
  readonly eventId: string;
  calls: number;
}

/** Starts the devices and operators of several events. The function that it returns stops them. */
export function startDoors(scene: DoorScene): () => Promise<void> {
  let isOver = false;
  const work = Array.from({ length: EVENTS }, async () => {
    while (!isOver) {
      const event = { eventId: randomUUID(), calls: 0 };
      await scene.createEvent(event.eventId);
      const isDone = () => isOver || event.calls > CALLS;
      const devices = Array.from({ length: DEVICES }, () => keepScanning(scene, event, isDone));
      await Promise.all([...devices, keepChanging(scene, event, isDone)]);
      await call(scene, event, 'DeleteEvent', {});
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(work);
  };
}

async function keepScanning(scene: DoorScene, event: LiveEvent, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    const scans: DoorScan[] = [];
    // Collected without a network, in which half have let somebody in.
    while (scans.length < 1 + 3 * Math.random()) {
      const scanId = randomUUID();
      scans.push({ scanId, attendeeId: pick(ATTENDEES), alreadyAdmitted: Math.random() < 0.5 });
    }
    for (let tries = 0; tries < TRIES && !(await upload(scene, event, scans)); tries++) await pause();
    // A reply may be lost on its way, which no server notices: the same scans come again.
    if (Math.random() < 0.3) await upload(scene, event, scans);
    await pause();
  }
}

async function upload(scene: DoorScene, event: LiveEvent, scans: readonly DoorScan[]): Promise<boolean> {
  // Its gate tells which scan has checked somebody in.
  const request = { scans: scans.map((scan) => ({ ...scan, gate: scan.scanId })) };
  return call(scene, event, 'BatchCheckIn', { scans }, request);
}

async function keepChanging(scene: DoorScene, event: LiveEvent, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    const method = pickWeighted({ UndoCheckIn: 10, ListCheckIns: 6, DeleteEvent: 1 });
    // An event that is deleted early refuses what the devices have collected.
    if (method === 'DeleteEvent' && event.calls < CALLS / 2) continue;
    const input = method === 'UndoCheckIn' ? { attendeeId: pick(ATTENDEES) } : {};
    await call(scene, event, method, input);
    await pause();
  }
}

async function call(
  scene: DoorScene,
  event: LiveEvent,
  method: string,
  input: object,
  request = input,
): Promise<boolean> {
  const { eventId } = event;
  event.calls++;
  const subject = `door ${eventId}`;
  const rpc = `EventService/${method}`;
  const answer = await callAny(scene, { rpc, subject, input: { eventId, ...input }, request: { eventId, ...request } });
  return answer !== undefined;
}

const pause = () => sleep(PAUSE_MS * 2 * Math.random());

/** What every event of these histories is created with. */
export const DOOR_RULES = { capacity: CAPACITY };
