/** An idle connection takes 20 KB of memory, and 66 KB over TLS: these together at most 135 MB. */
const MAX_CONNECTIONS = 2_048;

/** Returns how many connections may be open before idle ones are closed early: half of the open files at most. */
export function findConnectionLimit(): number {
  // Otherwise the report would look up the host names of all clients.
  Object.assign(process.report, { excludeNetwork: true });
  const report: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const files = Number(report.userLimits?.open_files?.soft);
  return files > 0 ? Math.min(MAX_CONNECTIONS, Math.floor(files / 2)) : MAX_CONNECTIONS;
}
