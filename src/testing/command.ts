#!/usr/bin/env node
/** `npx usher-testing`: Usher with a control port, for tests in other languages. */
import { fstatSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { describeFailure } from '../database/connection/start-failure.ts';
import { openControlPort } from './control-port.ts';
import type { StartUsherOptions } from './test-usher.ts';
import { startUsher } from './usher-testing.ts';

const USAGE = `usage: usher-testing [--env NAME=VALUE]… [--applications FILE] [--at TIME] [--log silent|failures|all]
                     [--database-url URL] [--control-port PORT]

Prints a line of JSON when it is ready: url, adminKey, controlUrl, controlKey.
`;

const STDIN = 0;

const LOGS = ['silent', 'failures', 'all'] as const;

try {
  await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`usher-testing: ${describeFailure(error)}\n`);
  // Standard input may be open.
  process.exit(1);
}

/**
 * Runs until a signal, `/stop`, or the end of standard input if that is a pipe: it ends with what holds the other end,
 * whatever ends that. @throws Error
 */
async function run(given: readonly string[]): Promise<void> {
  const { controlPort, ...options } = readOptions(given);
  const stopping = Promise.withResolvers<void>();
  const stop = () => stopping.resolve();
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, stop);
  if (isPipe(STDIN)) process.stdin.once('end', stop).once('error', stop).resume();
  await using usher = await startUsher(options);
  await using control = await openControlPort(usher, { port: controlPort, stop });
  const started = { url: usher.url, adminKey: usher.adminKey, controlUrl: control.url, controlKey: control.key };
  process.stdout.write(`${JSON.stringify(started)}\n`);
  await stopping.promise;
  process.stdin.destroy();
}

function isPipe(descriptor: number): boolean {
  const status = fstatSync(descriptor);
  return status.isFIFO() || status.isSocket();
}

function readOptions(given: readonly string[]): StartUsherOptions & { readonly controlPort: number } {
  const { values } = parse(given);
  const { applications, at, log, 'database-url': databaseUrl, 'control-port': controlPort = '0' } = values;
  const knownLog = LOGS.find((each) => each === log);
  if (log !== undefined && knownLog === undefined) throw new Error(`--log must be one of ${LOGS.join(', ')}`);
  if (at !== undefined && Number.isNaN(Date.parse(at))) throw new Error(`--at must be a time, not ${at}`);
  if (!/^\d{1,5}$/.test(controlPort) || Number(controlPort) > 65_535)
    throw new Error(`--control-port must be a port, not ${controlPort}`);
  return {
    controlPort: Number(controlPort),
    env: Object.fromEntries((values.env ?? []).map(readSetting)),
    ...(applications !== undefined && { applications }),
    ...(at !== undefined && { at }),
    ...(knownLog !== undefined && { log: knownLog }),
    ...(databaseUrl !== undefined && { databaseUrl }),
  };
}

function parse(given: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = { applications: text, at: text, log: text, 'database-url': text, 'control-port': text };
  try {
    return parseArgs({ args: [...given], options: { ...options, env: { ...text, multiple: true } } });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\n${USAGE}`, { cause: error });
  }
}

function readSetting(pair: string): [name: string, value: string] {
  const [, name, value] = /^([A-Z_]+)=(.*)$/s.exec(pair) ?? [];
  if (name === undefined || value === undefined) throw new Error(`--env must be NAME=VALUE, not ${pair}`);
  return [name, value];
}
