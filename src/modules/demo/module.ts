/** The demo of the first start: two applications that sign people in. Only on the embedded Postgres. */
import type { Config } from '../../config/config.ts';
import type { Module, OpenedModule } from '../module.ts';
import { type Demo, openDemo } from './demo.ts';
import { type ExampleParts, makeExampleValues } from './examples.ts';
import { createDemoApplication } from './site.ts';

export interface OpenedDemo extends OpenedModule {
  readonly demo: Demo;
}

export const demoModule: Module = {
  name: 'demo',
  settings: {},
  offer: (config) => (config.databaseUrl === undefined ? { open: (core) => open(config, core) } : {}),
};

async function open(config: Config, core: ExampleParts): Promise<OpenedDemo> {
  const demo = await openDemo(config, core);
  const { apiKey, canSignIn, clientId, email, homeUrl } = demo;
  const text = `${homeUrl}    sign in as ${email}, the code appears here`;
  return {
    demo,
    handlers: [createDemoApplication(demo, core, (line) => process.stdout.write(line))],
    greeting: {
      title: 'Demo',
      url: homeUrl,
      text: canSignIn ? text : '',
      variables: { CLIENT_ID: clientId, API_KEY: apiKey },
      makeExampleValues: () => makeExampleValues(demo, core),
    },
  };
}
