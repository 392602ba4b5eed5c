/** A site that serves one page at every path, and keeps the forms that are posted to it. */
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { findFreePort } from '../free-port.ts';
import { trustCertificate } from './usher-provider.ts';

/** Returns the origin and the forms. */
export async function servePages(script = '') {
  const port = await findFreePort();
  const forms: URLSearchParams[] = [];
  const page = `<!doctype html><html lang="en"><title>Client</title><body><script type="module">${script.replaceAll('</script', '<\\/script')}</script>`;
  const server = createServer(await trustCertificate(), async (request, response) => {
    if (request.method === 'POST') forms.push(new URLSearchParams(await text(request)));
    response.setHeader('content-type', 'text/html').end(page);
  });
  await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve));
  return {
    origin: `https://localhost:${port}`,
    forms,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
