// The first of [from, to) that is true, where all behind it are too; `to` when none is.
export function firstThat(from: number, to: number, isTrue: (index: number) => boolean): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
