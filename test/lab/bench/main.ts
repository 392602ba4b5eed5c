/** `npm run bench`: compares Usher with other servers. `npm run bench -- webhooks` and `npm run bench -- growth` are the others. */
import { installPackages } from '../../packages/install-packages.ts';

installPackages();
const [name] = process.argv.splice(2, /^(webhooks|growth)$/.test(process.argv[2] ?? '') ? 1 : 0);
await import(`./${name ?? 'compare'}/main.ts`);
