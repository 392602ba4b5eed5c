/** Preloaded with `node --import`: the clock of the process is off by CLOCK_OFFSET_MS. */
import process from 'node:process';

const offset = Number(process.env.CLOCK_OFFSET_MS);
const RealDate = Date;
const readClock = () => RealDate.now() + offset;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, parameters, newTarget) =>
    Reflect.construct(target, parameters.length === 0 ? [readClock()] : parameters, newTarget),
  apply: () => new RealDate(readClock()).toString(),
  get: (target, name) => (name === 'now' ? readClock : Reflect.get(target, name)),
});
