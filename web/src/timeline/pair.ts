// Two timelines that move as one: a moment of the first lies above a moment of the second, at the same zoom, so that
// what takes longer is longer to the eye.
import type { TimelineController } from "./controller";

export class TimelinePair {
  private shift = 0; // from the first one's times to the second one's

  constructor(
    readonly first: TimelineController,
    readonly second: TimelineController,
  ) {}

  // These two moments stand at one place from now on.
  align(first: number, second: number): void {
    const { first: a, second: b } = this;
    this.shift = second - first;
    a.setBounds(Math.min(a.model.start, b.model.start - this.shift), Math.max(a.model.end, b.model.end - this.shift));
    b.setBounds(a.view.low + this.shift, a.view.high + this.shift);
    this.moved(a);
  }
  // In times of the first.
  show(start: number, end: number, margin: number): void {
    this.first.view.show(start, end, margin);
    this.moved(this.first);
    this.first.redraw();
  }
  toFirst(time: number): number {
    return time - this.shift;
  }
  toSecond(time: number): number {
    return time + this.shift;
  }
  // One was moved: the other goes along.
  moved(which: TimelineController): void {
    const [other, by] = which === this.first ? [this.second, this.shift] : [this.first, -this.shift];
    other.follow(which.view.start + by, which.view.end + by);
  }
}
