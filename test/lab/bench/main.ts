/** `npm run bench`: compares Usher with other servers. `npm run bench -- logins`, `webhooks` and `growth` are the others. */
import { installPackages } from '../../packages/install-packages.ts';

installPackages();
const [name] = process.argv.splice(2, /^(logins|webhooks|growth)$/.test(process.argv[2] ?? '') ? 1 : 0);
await import(`./${name ?? 'compare'}/main.ts`);
