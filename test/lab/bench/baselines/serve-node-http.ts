import { createNodeHttpServer } from './node-http-server.ts';
import { openBaseline } from './open-baseline.ts';

const { config, ...parts } = openBaseline();
createNodeHttpServer(parts).listen(config.port, config.host);
