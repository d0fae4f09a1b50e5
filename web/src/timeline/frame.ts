// Drawing when the browser shows, and no more often: events come several to a frame.

/** A function that has `draw` called once before the next frame, however often it is called until then. */
export function onceAFrame(draw: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

/** Adds listeners to a canvas, and to `cleanups` what takes each away again. */
export function listener(canvas: HTMLCanvasElement, cleanups: (() => void)[]) {
  return <K extends keyof HTMLElementEventMap>(type: K, run: (event: HTMLElementEventMap[K]) => void): void => {
    canvas.addEventListener(type, run, { passive: false });
    cleanups.push(() => canvas.removeEventListener(type, run));
  };
}
