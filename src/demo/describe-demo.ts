import type { Demo } from './demo.ts';
import { createState } from './state.ts';

/** Returns shell commands to paste, one per line. */
export function describeDemo(url: string, demo: Demo): string {
  const { apiKey, clientId, redirectUri, webhookId, eventIds, authToken, sessionId, userId, canSignIn, email } = demo;
  const key = `-H 'X-API-Key: ${apiKey}'`;
  const asJson = `${key} -H 'Content-Type: application/json'`;
  const post = (path: string, body: unknown) =>
    `curl -s -X POST '${url}${path}' ${asJson} -d '${JSON.stringify(body)}'`;
  const rpc = (protocol: string, procedure: string, body: unknown) =>
    `npx buf curl --protocol ${protocol} --http2-prior-knowledge ${key} -d '${JSON.stringify(body)}' ${url}/usher.v1.${procedure}`;
  const login = { redirectUri, state: createState(apiKey) };
  const [deletedByRest, deletedByRpc, event] = eventIds;
  const variables = {
    USHER_URL: url,
    API_KEY: apiKey,
    CLIENT_ID: clientId,
    REDIRECT_URI: redirectUri,
    STATE: login.state,
    AUTH_TOKEN: authToken,
    SESSION_ID: sessionId,
    USER_ID: userId,
    WEBHOOK_ID: webhookId,
    EVENT_ID: event,
  };
  const assignments = Object.entries(variables).map(([name, value]) => `${name}='${value}'`);
  const inBrowser = `The demo application. Sign up, or sign in as ${email} (the code appears here):\n\n${url}/demo\n\n`;
  return `${canSignIn ? inBrowser : ''}The four calls over REST:

${post(`/api/oauth/generate-auth-url?clientId=${clientId}`, login)}
${post('/api/oauth/exchange', { authToken })}
curl -s ${url}/api/webhooks/${webhookId} ${key}
curl -s -X DELETE ${url}/api/events/${deletedByRest} ${asJson}

The same as RPCs:

${rpc('connect', 'AuthService/GenerateAuthUrl', { clientId, ...login })}
${rpc('connect', 'AuthService/ExchangeToken', { authToken })}
${rpc('grpc', 'WebhookService/GetWebhook', { webhookId })}
${rpc('grpcweb', 'EventService/DeleteEvent', { eventId: deletedByRpc })}

A check-in (its webhook is printed here as WEBHOOK), a list, and a session that is checked, renewed and revoked:

${post(`/api/events/${event}/check-ins`, { attendeeId: 'ada' })}
curl -s ${url}/api/events ${key}
${post('/api/sessions/check', { sessionId })}
${post('/api/sessions/renew', { sessionId })}
${post('/api/sessions/revoke', { sessionId })}

Every call is at ${url}/docs. Its examples work after:

export ${assignments.join(' ')}
`;
}
