import { once } from 'node:events';
import { createServer } from 'node:net';
import { nameSettings } from './name-settings.ts';

export interface WantedPort {
  readonly host: string;
  /** 0 is always free. */
  readonly port: number;
  /** The settings that name host and port. */
  readonly settings: readonly [string, string];
}

/**
 * Takes the ports and gives them back, so that a start fails before it creates anything. Takes all at the same time,
 * because two settings may name the same port.
 *
 * @throws Error of one line that names the settings
 */
export async function requireFreePorts(ports: readonly WantedPort[]): Promise<void> {
  await using stack = new AsyncDisposableStack();
  for (const { host, port, settings } of ports.filter((wanted) => wanted.port !== 0)) {
    const server = createServer((socket) => socket.destroy());
    server.listen({ host, port });
    await once(server, 'listening').catch((reason: NodeJS.ErrnoException) => {
      if (reason.code === 'EADDRINUSE') reason.message += `; ${settings[1]}=0 takes a free port`;
      return nameSettings(...settings)(reason);
    });
    stack.defer(async () => {
      const closed = once(server, 'close');
      server.close();
      await closed;
    });
  }
}
