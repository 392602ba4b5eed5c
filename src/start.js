/** The entry point. It is JavaScript, because an older Node fails on TypeScript before any check could run. */
const MINIMUM = [24, 16];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])) {
  // Without a top-level await Node would exit with 0 if the start never settled.
  process.exitCode = 13;
  import('./main.ts').then(() => {
    process.exitCode = undefined;
  });
} else {
  process.stderr.write(`usher: needs Node ${MINIMUM.join('.')} or later; this is ${process.versions.node}\n`);
  process.exitCode = 1;
}
