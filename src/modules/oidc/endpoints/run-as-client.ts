/** Reads the form, checks the credential and applies admission, for the endpoints at which clients authenticate. */

import type { Admission } from '../../../api/admission.ts';
import type { ResourceScope } from '../../../database/schema/column-types.ts';
import { type ApiKeys, KEY_USES } from '../../../domain/api-keys/api-keys.ts';
import type { Actor } from '../../../domain/audit/audit-event.ts';
import type { Application, ApplicationCall } from '../../../domain/core/call.ts';
import { hasReason } from '../../../domain/core/errors.ts';
import type { Peer } from '../../../domain/sessions/session.ts';
import { headerOf } from '../../../http/exchange.ts';
import type { ClientDocuments } from '../clients/client-documents.ts';
import { describeRefusal, isClientUrl } from '../clients/client-url.ts';
import type { PublicClients } from '../clients/oidc-clients.ts';
import type { Resource, Resources } from '../clients/resources.ts';
import { OidcError } from '../domain/oidc-error.ts';
import {
  type ClientCredentials,
  type FormFields,
  invalidClient,
  readClientCredentials,
  readForm,
} from './client-credentials.ts';
import type { OidcCall } from './oidc-call.ts';
import { allowAnyPage, allowPage } from './oidc-edge.ts';

export interface ClientParts {
  /** Limits calls by application. */
  readonly admission: Admission;
  readonly apiKeys: ApiKeys;
  readonly documents: ClientDocuments;
  /** Limits look-ups of keys and clients. */
  readonly lookUps: Admission;
  readonly publicClients: PublicClients;
  readonly resources: Resources;
}

export interface ClientCall extends ApplicationCall {
  /** The API key that the client has sent as its secret. Null for a public client. */
  readonly apiKeyId: string | null;
  readonly clientId: string;
  /** The client ID again, if nobody has registered the client: `application` is the resource of its tokens then. */
  readonly forClient: string | null;
  /** The client, if `callAtResource` has put the resource of its tokens in the place of `application`. */
  readonly client?: Application;
  /** What clients may ask for at the resource. */
  readonly resourceScopes: readonly ResourceScope[];
  /** Whether the client sent no secret. */
  readonly isPublic: boolean;
  readonly peer: Peer;
}

/** Returns the resource for whose tokens a client calls that has no application of its own. @throws OidcError */
export type FindResource = (form: FormFields) => Promise<Resource>;

interface Client extends Partial<Pick<ClientCall, 'forClient' | 'resourceScopes'>> {
  readonly application: Application;
  readonly actor: Omit<Actor, 'action'>;
  readonly isPublic: boolean;
}

/** The actor of a public client: a page or a mobile app that acts for its user. */
const PUBLIC_ACTOR = { actorType: 'login_page', actor: '' } as const;

/**
 * Reads the form, authenticates the client, and runs the work once it is admitted. Without `findResource`, only
 * registered clients may call.
 *
 * @throws OidcError `invalid_request`, `invalid_client`, `unauthorized_client`, and what the work throws
 */
export async function runAsClient<Result>(
  parts: ClientParts,
  call: OidcCall,
  work: (call: ClientCall, form: FormFields) => Promise<Result>,
  findResource?: FindResource,
): Promise<Result> {
  const { context, deadline } = call;
  const form = await readForm(context, deadline);
  const credentials = readClientCredentials(headerOf(context, 'authorization'), form);
  const { clientId } = credentials;
  const { application, actor, isPublic, ...ofResource } = await parts.lookUps.run('', () =>
    isClientUrl(clientId)
      ? authenticateByUrl(parts, call, credentials, findResource && (() => findResource(form)))
      : authenticate(parts, call, credentials),
  );
  call.setApplication(application.id, { isAuthenticated: !isPublic });
  if (!application.openIdConnect) throw new OidcError('unauthorized_client');
  const peer = { ipAddress: context.clientAddress, userAgent: headerOf(context, 'user-agent') ?? '' };
  // Anybody can call as a public client, so such calls must not use up the share of the application's servers.
  const caller = isPublic ? `public ${application.id}` : application.id;
  return parts.admission.run(caller, ({ ignoreTime }) =>
    work(
      {
        ...call.toDomainCall(actor, ignoreTime),
        ...{ forClient: null, resourceScopes: [], ...ofResource },
        ...{ apiKeyId: actor.actorType === 'api_key' ? actor.actor : null },
        ...{ application, clientId, isPublic, peer },
      },
      form,
    ),
  );
}

/** The client proves nothing here: its code or token does. So no secret is expected, and pages of any origin may call. */
async function authenticateByUrl(
  { documents }: ClientParts,
  { context }: OidcCall,
  { clientId, secret }: ClientCredentials,
  findResource: (() => Promise<Resource>) | undefined,
): Promise<Client> {
  const problem = documents.findProblem(clientId);
  if (secret !== undefined || !findResource || problem !== undefined)
    throw invalidClient(problem && describeRefusal(clientId, problem));
  allowAnyPage(context);
  const { resourceScopes, ...application } = await findResource();
  return { application, actor: PUBLIC_ACTOR, isPublic: true, forClient: clientId, resourceScopes };
}

async function authenticate(
  { apiKeys, publicClients }: ClientParts,
  { context }: OidcCall,
  { clientId, secret }: ClientCredentials,
): Promise<Client> {
  if (secret === undefined) {
    const application = await publicClients.find(clientId);
    if (!application) throw invalidClient();
    allowPage(context, application.redirectUris);
    return { application, actor: PUBLIC_ACTOR, isPublic: true };
  }
  const owner = await apiKeys.authenticate(secret, { clientId, uses: KEY_USES }).catch((error: unknown) => {
    throw hasReason(error, 'INVALID_API_KEY') ? invalidClient() : error;
  });
  const actor = { actorType: 'api_key', actor: owner.apiKeyId } as const;
  return { application: owner.application, actor, isPublic: false };
}
