/** Servers of clients that nobody has registered, behind the proxy through which Usher fetches their metadata. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { FullConfig } from '../../src/modules/modules.ts';
import { parseClientHosts } from '../../src/modules/oidc/clients/client-url.ts';
import { createCertificate } from './certificate.ts';

/** What the hosts of the clients end with. Each has its own, because so many documents of one host are fetched a minute. */
export const CLIENT_HOSTS = 'client.test';

/** Fields of an application, beside `resourceUri`, whose tokens clients may get that nobody has registered. */
export const MCP_SERVER = {
  name: 'Shop MCP',
  openIdConnect: true,
  resourceScopes: [{ name: 'orders:read', description: 'See your orders' }],
  allowMetadataClients: true,
};

type Serve = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface ClientServers extends AsyncDisposable {
  /** For a service whose clients they are. */
  readonly config: Pick<FullConfig, 'clientMetadataHosts'> & { readonly webhookProxyUrl: string };
  /** The paths that were asked for. */
  readonly asked: string[];
  /** Serves a document at a new path, and returns its URL, the client ID. */
  add(changes?: Readonly<Record<string, unknown>>, headers?: Readonly<Record<string, string>>): string;
  serve(path: string, serve: Serve): string;
}

/** Trusts their certificate until they are closed. */
export async function startClientServers(): Promise<ClientServers> {
  const certificate = await createCertificate('ec', undefined, [`*.${CLIENT_HOSTS}`]);
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, certificate.cert]);
  const paths = new Map<string, Serve>();
  const asked: string[] = [];
  const server = createHttpsServer(certificate, (request, response) => {
    asked.push(request.url ?? '');
    const serve = paths.get(request.url ?? '');
    if (serve) serve(request, response);
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    socket.once('data', () => {
      const endpoint = connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      }).on('error', () => socket.destroy());
      socket.pipe(endpoint).pipe(socket);
    });
  }).listen(0, '127.0.0.1');
  await Promise.all([once(server, 'listening'), once(proxy, 'listening')]);
  const serve = (path: string, handler: Serve) => {
    paths.set(path, handler);
    return `https://c${paths.size}.${CLIENT_HOSTS}${path}`;
  };
  return {
    config: {
      clientMetadataHosts: parseClientHosts(`*.${CLIENT_HOSTS}`),
      webhookProxyUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    },
    asked,
    serve,
    add(changes = {}, headers = {}) {
      const clientId = serve(`/clients/${paths.size}`, (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document));
      });
      const document = {
        client_id: clientId,
        client_name: 'Assistant',
        redirect_uris: ['https://assistant.test/callback', 'http://localhost/callback', 'http://127.0.0.1:1/callback'],
        token_endpoint_auth_method: 'none',
        ...changes,
      };
      return clientId;
    },
    async [Symbol.asyncDispose]() {
      setDefaultCACertificates(trusted);
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
      proxy.close();
    },
  };
}
