/**
 * A process loads this before its own code. From the first SIGUSR2, each stream, request, session and server in turn ends
 * with an error: all that live at each signal, and some of the others at several times after they are created. An error
 * that nobody listens to ends the process.
 */
import { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { Server } from 'node:net';
import { Stream } from 'node:stream';

/** One of so many that are created. */
const EVERY = 7;
const WAITS = [process.nextTick, setImmediate, 1, 20] as const;

interface Hooked {
  init(this: EventEmitter, options?: object): void;
}

const own = new Set<EventEmitter>([process.stdin, process.stdout, process.stderr]);
const created = new Set<WeakRef<EventEmitter>>();
const counts: Record<string, number> = {};
let isBreaking = false;
let count = 0;

function breakOne(emitter: EventEmitter): void {
  const { name } = emitter.constructor;
  const isOne =
    emitter instanceof Stream ||
    (emitter instanceof Server && emitter.listening) ||
    emitter instanceof ChildProcess ||
    name.endsWith('Http2Session');
  if (!isOne || own.has(emitter) || ('destroyed' in emitter && emitter.destroyed)) return;
  counts[name] = (counts[name] ?? 0) + 1;
  const error = Object.assign(new Error(`broken: ${name}`), { code: 'ETEST' });
  if ('destroy' in emitter && typeof emitter.destroy === 'function') emitter.destroy(error);
  else emitter.emit('error', error);
}

const hooked = EventEmitter as unknown as Hooked;
const { init } = hooked;
hooked.init = function (options) {
  init.call(this, options);
  created.add(new WeakRef(this));
  if (created.size % 1_000 === 0) for (const each of created) if (!each.deref()) created.delete(each);
  if (!isBreaking || ++count % EVERY !== 0) return;
  // Node itself uses a session in the tick after it is created, whatever has become of it.
  const waits = this.constructor.name.endsWith('Http2Session') ? WAITS.slice(1) : WAITS;
  const wait = waits[(count / EVERY) % waits.length] ?? 0;
  if (typeof wait === 'number') setTimeout(() => breakOne(this), wait);
  else wait(() => breakOne(this));
};

process.on('SIGUSR2', () => {
  isBreaking = true;
  for (const each of [...created]) {
    const emitter = each.deref();
    if (emitter) breakOne(emitter);
  }
  process.stderr.write(`${JSON.stringify(counts)}\n`);
});
