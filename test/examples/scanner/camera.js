/** Reads codes from the camera, with what the browser has for it. */

const PAUSE_MS = 150;
/** A code that stays in view is one scan. */
const SAME_MS = 3_000;
/** So many failures in a row are no picture that is late: the browser cannot read codes now. */
const MOST_FAILURES = 20;

/** Whether this browser can read codes: at the time of writing, Chrome on Android and macOS, but not Firefox and Safari. */
export const canReadCodes = 'BarcodeDetector' in window && Boolean(navigator.mediaDevices);

/**
 * Shows the camera in `video` and calls `onCode` for each code, and `onStop` with the reason if it cannot go on. Returns
 * a function that ends it. @throws DOMException
 */
export async function startCamera(video, onCode, onStop) {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
  const end = () => {
    for (const track of stream.getTracks()) track.stop();
    video.srcObject = null;
  };
  try {
    video.srcObject = stream;
    await video.play();
    void readCodes(new BarcodeDetector(), { video, stream, onCode, onStop });
  } catch (error) {
    end();
    throw error;
  }
  // A call on the phone, or another application, may take the camera away.
  for (const track of stream.getTracks()) track.onended = () => onStop('The camera has stopped. Open it again.');
  return end;
}

/** Reads until the stream ends. */
async function readCodes(detector, { video, stream, onCode, onStop }) {
  const seen = new Map();
  let failures = 0;
  while (stream.active) {
    try {
      for (const { rawValue } of await detector.detect(video)) {
        const isNew = !(performance.now() - seen.get(rawValue) < SAME_MS);
        seen.set(rawValue, performance.now());
        if (isNew && rawValue && stream.active) onCode(rawValue);
      }
      failures = 0;
    } catch (error) {
      // It also fails while the video has no picture.
      if (++failures === MOST_FAILURES) return onStop(`The camera reads no codes: ${error.message}`);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
