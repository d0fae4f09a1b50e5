// The colours of bands: the lines (or categories) that hold most at the peak have their own, the rest is grey.
import type { Theme } from "../colours";
import type { MemoryDevice, MemoryModel } from "./model";

export type ColourBy = "category" | "line";
const kLines = [
  "#4053a6",
  "#e69f00",
  "#117733",
  "#c75b6c",
  "#3a94c9",
  "#a0418f",
  "#8f8f2a",
  "#3a9d8c",
  "#882255",
  "#d55e00",
];
const kLinesDark = [
  "#7788e0",
  "#e69f00",
  "#3f9f5f",
  "#de7f8d",
  "#5fb4e6",
  "#c66bb6",
  "#b0b04a",
  "#4fb8a6",
  "#c4558c",
  "#e57a2e",
];
export const kRest = "#9aa2ad";

// The lines (or categories) that hold most at the peak have colours of their own, in this order; the rest is grey.
export function colouring(model: MemoryModel, device: MemoryDevice, by: ColourBy, theme: Theme) {
  const palette = theme === "light" ? kLines : kLinesDark;
  const order = model
    .live(device, device.peakMoment, by)
    .map((group) => group.name)
    .filter((name) => name !== "unknown")
    .slice(0, palette.length);
  const colourOf = (name: string) => (name === "unknown" ? kRest : (palette[order.indexOf(name)] ?? kRest));
  const nameOf = (row: number) =>
    by === "line" ? model.text(model.line[row]) : (model.categories[model.category[row]] ?? "unknown");
  return { colourOf, nameOf };
}
