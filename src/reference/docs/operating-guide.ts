/** Where whoever runs Usher reads on: files of a clone, which this server does not serve. */
import { html } from '../../http/html.ts';
import { renderTable } from './text.ts';

export const OPERATING_GUIDE = html`<p>These files are in a clone of Usher.</p>
${renderTable(
  ['About', 'File'],
  [
    ['First production: the settings that it needs', '`README.md#production`'],
    ['Docker, Compose, Kubernetes; sizing, backup, upgrades', '`src/OPERATIONS.md`'],
    ['All settings, each with its default', '`src/config/README.md`'],
    ['Prometheus: metrics, a Grafana dashboard, alerts', '`src/metrics/README.md`'],
    ['Postgres, poolers, failover', '`src/database/README.md`'],
    ['The console for operators and the help desk', '`src/modules/console/README.md`'],
    ['Admin keys, their rights, and the audit log', '`src/api/README.md#admin-keys-and-the-audit-log`'],
    ['Users from another system, with IDs and passkeys', '`src/api/README.md#bring-your-users`'],
  ],
)}`;
