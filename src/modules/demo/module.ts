/** The demo of the first start: two applications that sign people in. Only on the embedded Postgres. */
import type { Module, OpenedModule } from '../module.ts';
import { createDemoApplication } from './application.ts';
import { type Demo, openDemo } from './demo.ts';
import { makeExampleValues } from './example-values.ts';

export interface OpenedDemo extends OpenedModule {
  readonly demo: Demo;
}

export const demoModule: Module = {
  name: 'demo',
  settings: {},
  async open(config, core): Promise<OpenedDemo | undefined> {
    if (config.databaseUrl !== undefined) return undefined;
    const demo = await openDemo(config, core);
    const { apiKey, canSignIn, clientId, email, homeUrl } = demo;
    const text = `${homeUrl}    sign in as ${email}, the code appears here`;
    return {
      demo,
      handler: createDemoApplication(demo, core, (line) => process.stdout.write(line)),
      greeting: {
        title: 'Demo',
        url: homeUrl,
        text: canSignIn ? text : '',
        variables: { CLIENT_ID: clientId, API_KEY: apiKey },
        readExampleValues: () => makeExampleValues(demo, core),
      },
    };
  },
};
