/** Keeps the files of the page, so that it opens without a network. Calls go past it. */

const CACHE = 'scanner';
const FILES = [
  ...['/', '/style.css', '/page.js', '/texts.js', '/scanner.js', '/calls.js'],
  ...['/decide.js', '/store.js', '/camera.js'],
];
/** A network that is there but answers nothing is as bad as none. */
const TIMEOUT_MS = 3_000;

addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)));
  skipWaiting();
});
addEventListener('activate', (event) => event.waitUntil(clients.claim()));

addEventListener('fetch', (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (origin === location.origin && FILES.includes(pathname)) event.respondWith(serve(event.request, pathname));
});

/** Answers with the newest file that there is. */
async function serve(request, pathname) {
  // A device whose storage is full or fails still shows the page, as long as it has a network.
  const cache = await caches.open(CACHE).catch(() => undefined);
  const reply = await fetch(request, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined);
  if (!reply?.ok) return (await cache?.match(pathname)) ?? Response.error();
  await cache?.put(pathname, reply.clone()).catch(() => {});
  return reply;
}
