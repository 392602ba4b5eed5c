/** Reads codes from the camera, with what the browser has for it. */

const PAUSE_MS = 150;
/** A code that stays in view is one scan. */
const SAME_MS = 3_000;

/** Whether this browser can read codes: at the time of writing, Chrome on Android and macOS, but not Firefox and Safari. */
export const canReadCodes = 'BarcodeDetector' in window && Boolean(navigator.mediaDevices);

/** Shows the camera in `video` and calls `onCode` for each code. Returns a function that ends it. @throws DOMException */
export async function startCamera(video, onCode) {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
  video.srcObject = stream;
  await video.play();
  const detector = new BarcodeDetector();
  const seen = new Map();
  let timer;
  const read = async () => {
    // Fails while the video has no picture.
    const codes = await detector.detect(video).catch(() => []);
    for (const { rawValue } of codes) {
      const isNew = !(performance.now() - seen.get(rawValue) < SAME_MS);
      seen.set(rawValue, performance.now());
      if (isNew && rawValue) onCode(rawValue);
    }
    if (stream.active) timer = setTimeout(read, PAUSE_MS);
  };
  void read();
  return () => {
    clearTimeout(timer);
    for (const track of stream.getTracks()) track.stop();
    video.srcObject = null;
  };
}
