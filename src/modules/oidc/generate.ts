import { readFileSync, writeFileSync } from 'node:fs';

/** Writes the settings of products that sign in over OpenID Connect, as the page about them has them. */
export function writeProducts(): void {
  const page = readFileSync('src/modules/oidc/endpoints/README.md', 'utf8');
  const product = /^### (.+)\n\nRedirect URI: `(.+)` \((.+)\)\n\n```\n([\s\S]+?)\n```$/gm;
  const products = [...page.matchAll(product)].map(([, name, redirectUri, source, settings]) => {
    return { name, source, redirectUri, settings };
  });
  writeFileSync('gen/openid-clients.json', `${JSON.stringify(products, null, 2)}\n`);
}
