/** The clients of a resource: those that act for its users. */
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { endClient, listResourceClients } from '../../../domain/grants/clients.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, createOperatorCall, findApplication } from '../console-request.ts';
import { renderForm } from '../parts/form.ts';
import { renderPanel } from '../parts/panel.ts';
import { includesRole } from '../signed-in-operator.ts';

/** Renders nothing for an application that is no resource, whose page then needs no statement more. */
export async function renderClients(
  { call, operator }: ConsoleRequest,
  { id, resourceUri }: ApplicationDetails,
): Promise<Html | false> {
  if (resourceUri === null) return false;
  const clients = await listResourceClients(call, id);
  const mayEnd = includesRole(operator.role, 'support');
  const items = clients.map(({ clientId, clientName, grants }) => {
    const end = renderForm(
      `/applications/${id}/clients/end`,
      html`<input type="hidden" name="clientId" value="${clientId}"><button class="danger">End all<span class="hide">: ${isolate(clientName ?? clientId)}</span></button>`,
    );
    return html`<div class="item"><div><strong>${isolate(clientName ?? 'A registered client')}</strong><p><bdi dir="ltr">${clientId}</bdi> · ${String(grants)} ${grants === 1 ? 'grant' : 'grants'}</p></div>${mayEnd && end}</div>`;
  });
  const none = html`<p class="item soft">No client acts for anybody at the moment.</p>`;
  return renderPanel('clients', 'Clients with access', html`${items.length > 0 ? items : none}`, false, 'panel tight');
}

/** Ends the grants and consents of a client, of all users. */
export async function endClientByForm({ call, context, form, operator, params, parts }: ConsoleRequest) {
  const { id: applicationId } = await findApplication(call, params.a);
  const audited = createOperatorCall(context, parts, operator.userId, 'EndClient');
  await endClient(audited, { applicationId, clientId: form.get('clientId') ?? '', userId: null });
  return { redirect: `/applications/${applicationId}?done=clientEnded` };
}
