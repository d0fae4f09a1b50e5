// Colours of both themes. Kinds of work are Paul Tol's muted set and idle causes Okabe and Ito's, which people with any
// common colour blindness tell apart; and nothing rests on colour alone: idle is hatched, busy is not, and each piece
// that is wide enough carries its name.

export type Theme = "light" | "dark";

const kKindLight: Record<string, string> = {
  matmul: "#4053a6",
  attention: "#3a94c9",
  convolution: "#117733",
  normalisation: "#3a9d8c",
  elementwise: "#8f8f2a",
  reduction: "#c9b458",
  embedding: "#7cbfe0",
  optimizer: "#a0418f",
  communication: "#882255",
  copy: "#c75b6c",
  set: "#a8a8a8",
  other: "#7a7f87",
};
const kKindDark: Record<string, string> = {
  ...kKindLight,
  matmul: "#7788e0",
  attention: "#5fb4e6",
  convolution: "#3f9f5f",
  normalisation: "#4fb8a6",
  elementwise: "#b0b04a",
  reduction: "#dccb74",
  embedding: "#9bd2ee",
  optimizer: "#c66bb6",
  communication: "#c4558c",
  copy: "#de7f8d",
};
const kCause: Record<string, string> = {
  data_loader: "#e69f00",
  checkpoint: "#9a6a1f",
  allocator: "#b07aa1",
  synchronization: "#d55e00",
  blocking_copy: "#cc79a7",
  optimizer: "#a0418f",
  operator: "#2f7fc4",
  python: "#009e73",
  launch: "#56b4e9",
  other_api: "#8a8f98",
  profiler: "#b3a58c",
  no_event: "#7d6f64",
  launch_latency: "#8fb8d8",
  kernel_gap: "#c9b400",
  unlinked: "#6b6b6b",
};

export interface Paint {
  theme: Theme;
  background: string;
  panel: string;
  text: string;
  faint: string;
  line: string;
  accent: string;
  evidence: string;
  idleBase: string;
}
const kPaint: Record<Theme, Paint> = {
  light: {
    theme: "light",
    background: "#ffffff",
    panel: "#f4f5f7",
    text: "#1b1f24",
    faint: "#667080",
    line: "#d9dde3",
    accent: "#0b62c4",
    evidence: "rgba(230,159,0,0.22)",
    idleBase: "#ffffff",
  },
  dark: {
    theme: "dark",
    background: "#15181d",
    panel: "#1d2127",
    text: "#e6e9ee",
    faint: "#98a2b0",
    line: "#343a44",
    accent: "#6cb2ff",
    evidence: "rgba(230,159,0,0.25)",
    idleBase: "#15181d",
  },
};
export function paint(theme: Theme): Paint {
  return kPaint[theme];
}

export function kindColour(kind: string, theme: Theme): string {
  return (theme === "light" ? kKindLight : kKindDark)[kind] ?? "#7a7f87";
}
export function causeColour(cause: string): string {
  return kCause[cause] ?? "#8a8f98";
}

// Host rows: calm tints, so that the GPU's colours stand out. A name keeps its tint everywhere.
const kTintsLight = ["#c9d6ee", "#d5e4d3", "#e9dcc4", "#dccfe6", "#cbe3e4", "#ead0d3", "#dfe0c6", "#d3d7de"];
const kTintsDark = ["#3d4f75", "#41593f", "#665537", "#574766", "#386062", "#694449", "#5a5c37", "#4a515c"];
export function hostColour(kind: number, nameId: number, theme: Theme): string {
  if (kind === 0 || kind === 4) return theme === "light" ? "#b9c2cf" : "#4b5666";
  if (kind === 3) return theme === "light" ? "#e8ebe4" : "#2f362e";
  const tints = theme === "light" ? kTintsLight : kTintsDark;
  return tints[(Math.imul(nameId, 0x9e3779b1) >>> 8) % tints.length];
}

// Dark text on light fills and light text on dark ones.
export function textOn(colour: string): string {
  const value = Number.parseInt(colour.slice(1), 16);
  const light = 0.299 * (value >> 16) + 0.587 * ((value >> 8) & 255) + 0.114 * (value & 255);
  return light > 140 ? "#14181d" : "#ffffff";
}

// A hatched fill for idle time.
const patterns = new Map<string, CanvasPattern | string>();
export function hatch(context: CanvasRenderingContext2D, colour: string, theme: Theme): CanvasPattern | string {
  const key = colour + theme;
  let pattern = patterns.get(key);
  if (pattern === undefined) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const c = tile.getContext("2d");
    if (!c) return colour;
    c.fillStyle = colour;
    c.globalAlpha = 0.55;
    c.fillRect(0, 0, 8, 8);
    c.globalAlpha = 1;
    c.strokeStyle = colour;
    c.lineWidth = 2.4;
    c.beginPath();
    for (const x of [-8, 0, 8]) {
      c.moveTo(x, 8);
      c.lineTo(x + 8, 0);
    }
    c.stroke();
    pattern = context.createPattern(tile, "repeat") ?? colour;
    patterns.set(key, pattern);
  }
  return pattern;
}
