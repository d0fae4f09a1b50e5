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
