// What stands in a view's place while its data are being unpacked, or when they cannot be: in every view the same words.
import type { Loaded } from "../data/recordings";

export function Waiting({ of, what }: { of: Loaded<unknown>; what: string }) {
  if (of && "failed" in of) return <p role="alert">{of.failed}</p>;
  return <p class="faint">Unpacking the {what}…</p>;
}
