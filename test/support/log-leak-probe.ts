export { RecordedLog as LogLeakProbe } from './recorded-log.ts';
