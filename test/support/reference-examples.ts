/** The examples of the API reference with what they need to run. */

import examples from '../../proto/examples.json' with { type: 'json' };
import type { Operation } from '../../src/api/catalogue.ts';
import { type Run, runShell } from './process.ts';
import { prepareSample, type SampleFixture, SampleValues, type Variable } from './samples.ts';
import { ADMIN_KEY } from './service.ts';

/** Returns the variables that the example uses, with values that are new. */
export async function variablesOf(
  { method }: Operation,
  example: string,
  fixture: SampleFixture,
): Promise<Record<string, string>> {
  const values = new SampleValues({ ...fixture, isPlain: true });
  const env: Record<string, string> = {
    USHER_URL: fixture.service.url,
    API_KEY: fixture.tenant.apiKey,
    ADMIN_KEY,
  };
  for (const name of Object.keys(examples.variables) as Variable[]) {
    if (new RegExp(`\\b${name}\\b`).test(example)) env[name] = await values.get(name);
  }
  await prepareSample(method, values);
  return env;
}

/** Runs an example for the shell. */
export async function runExample(operation: Operation, example: string, fixture: SampleFixture): Promise<Run> {
  return runShell(example, await variablesOf(operation, example, fixture));
}
