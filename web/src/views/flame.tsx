// Flame graphs of CPU and GPU time, by Python stack, by module and by operator; on canvas, root on top.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { paint, type Theme, textOn } from "../colours";
import type { Model } from "../data/model";
import { isLoaded, type Recordings, useModel } from "../data/recordings";
import { notRecorded, type Report } from "../data/report";
import {
  cpuTree,
  type FlameBox,
  type FlameNode,
  gpuTree,
  isOutsideModules,
  layoutFlame,
  treeOfStacks,
} from "../flame/tree";
import { count, duration, percent, shorten } from "../format";
import { Choice } from "./choice";
import { FilterBox } from "./filter_box";
import { Waiting } from "./waiting";

const kMetrics = ["GPU time", "CPU time"] as const;
const kGroupings = ["Python stack", "module", "operator"] as const;
type Metric = (typeof kMetrics)[number];
type By = (typeof kGroupings)[number];

export function flameTree(model: Model, metric: Metric, by: By): FlameNode {
  if (by === "Python stack")
    return treeOfStacks(model.foldedStacks(metric === "GPU time" ? "stacks_gpu" : "stacks_cpu"));
  const grouping = by === "module" ? "modules" : "operators";
  return metric === "GPU time" ? gpuTree(model, grouping) : cpuTree(model, grouping);
}

export function FlameView({
  index,
  recordings,
  theme,
  report,
}: {
  index: number;
  recordings: Recordings;
  theme: Theme;
  report: Report | undefined;
}) {
  const loaded = useModel(recordings, index);
  if (!isLoaded(loaded)) return <Waiting of={loaded} what="recording" />;
  return <Flames model={loaded.model} theme={theme} howTo={report?.source.record_with} />;
}

function Flames({
  model,
  theme,
  howTo,
}: {
  model: Model;
  theme: Theme;
  howTo: Report["source"]["record_with"] | undefined;
}) {
  const [metric, setMetric] = useState<Metric>(model.gpu.count > 0 ? "GPU time" : "CPU time");
  const hasStacks = model.container.rows(metric === "GPU time" ? "stacks_gpu" : "stacks_cpu") > 0;
  const [by, setBy] = useState<By>(hasStacks ? "Python stack" : "operator");
  const [root, setRoot] = useState<FlameNode | null>(null);
  const [filter, setFilter] = useState("");
  const tree = useMemo(() => flameTree(model, metric, by), [model, metric, by]);
  const top = root && isUnder(root, tree) ? root : tree;
  return (
    <>
      <div class="tools">
        <Choice label="Time" all={kMetrics} value={metric} onChange={setMetric} />
        <Choice label="By" all={kGroupings} value={by} onChange={setBy} />
        <FilterBox label="highlight" value={filter} onInput={setFilter} />
        <button type="button" disabled={top === tree} onClick={() => setRoot(null)}>
          Whole graph
        </button>
      </div>
      {tree.value <= 0 || (by === "module" && isOutsideModules(tree)) ? (
        <p class="faint">
          {by === "operator"
            ? `No ${metric} was recorded.`
            : by === "module"
              ? notRecorded("modules", howTo?.modules)
              : notRecorded("Python stacks", howTo?.stacks)}
        </p>
      ) : (
        <>
          <FlameCanvas tree={top} total={tree.value} theme={theme} filter={filter} onZoom={setRoot} />
          <Heaviest tree={tree} onZoom={setRoot} />
        </>
      )}
    </>
  );
}

function isUnder(node: FlameNode, root: FlameNode): boolean {
  for (let at: FlameNode | null = node; at; at = at.parent) if (at === root) return true;
  return false;
}

const kBox = 19;
const kWarm = ["#e9b872", "#e0a458", "#edc78a", "#d8995a", "#f0d3a0", "#e3ae6b"];
const kWarmDark = ["#8a6230", "#7b5426", "#95703c", "#714b22", "#9d7b48", "#856034"];

function FlameCanvas({
  tree,
  total,
  theme,
  filter,
  onZoom,
}: {
  tree: FlameNode;
  total: number;
  theme: Theme;
  filter: string;
  onZoom(node: FlameNode): void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [hover, setHover] = useState<{ x: number; y: number; node: FlameNode } | null>(null);
  const boxes = useMemo(() => layoutFlame(tree, 0.5 / Math.max(width, 1)), [tree, width]);
  const depth = boxes.reduce((most, box) => Math.max(most, box.depth), 0) + 1;
  useEffect(() => {
    if (!canvas.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    observer.observe(canvas.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && width > 0) drawFlame(canvas.current, boxes, width, depth, theme, filter.trim().toLowerCase());
  }, [boxes, width, depth, theme, filter]);
  const find = (event: MouseEvent): FlameBox | undefined => {
    const x = event.offsetX / Math.max(width, 1);
    const level = Math.floor(event.offsetY / kBox);
    return boxes.find((box) => box.depth === level && x >= box.from && x < box.to);
  };
  return (
    <div class="canvas-box flame" style={{ height: `${depth * kBox}px` }}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Flame graph of ${tree.name}, ${duration(tree.value)}; the table below has its heaviest frames`}
        onClick={(event) => {
          const box = find(event);
          if (box) onZoom(box.node);
        }}
        onMouseMove={(event) => {
          const box = find(event);
          setHover(box ? { x: event.offsetX, y: event.offsetY, node: box.node } : null);
        }}
        onMouseLeave={() => setHover(null)}
      />
      {hover && (
        <div class="hover" style={{ left: `${Math.min(hover.x + 14, width - 320)}px`, top: `${hover.y + 16}px` }}>
          {hover.node.name}
          <br />
          {duration(hover.node.value)} ({percent(hover.node.value / total)}), by itself {duration(hover.node.self)}
        </div>
      )}
    </div>
  );
}

function drawFlame(
  canvas: HTMLCanvasElement,
  boxes: FlameBox[],
  width: number,
  depth: number,
  theme: Theme,
  wanted: string,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(depth * kBox * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  const warm = theme === "light" ? kWarm : kWarmDark;
  for (const box of boxes) {
    const x = box.from * width;
    const w = Math.max((box.to - box.from) * width - 0.7, 0.5);
    let hash = 0;
    for (let i = 0; i < box.node.name.length; i++) hash = (Math.imul(hash, 31) + box.node.name.charCodeAt(i)) | 0;
    const hit = wanted !== "" && box.node.name.toLowerCase().includes(wanted);
    const fill = hit ? "#7a3fb0" : box.depth === 0 ? paint(theme).line : warm[Math.abs(hash) % warm.length];
    context.globalAlpha = wanted !== "" && !hit ? 0.4 : 1;
    context.fillStyle = fill;
    context.fillRect(x, box.depth * kBox, w, kBox - 1);
    if (w < 28) continue;
    context.fillStyle = textOn(fill);
    context.fillText(shorten(box.node.name, Math.floor((w - 6) / 6.6)), x + 4, box.depth * kBox + kBox / 2, w - 6);
  }
  context.globalAlpha = 1;
}

// The same as a table: for reading aloud, and for frames that are scattered over many stacks.
export function heaviest(tree: FlameNode): { name: string; self: number; total: number; node: FlameNode }[] {
  const sums = new Map<string, { name: string; self: number; total: number; node: FlameNode }>();
  const onPath = new Set<string>();
  const visit = (node: FlameNode) => {
    const sum = sums.get(node.name) ?? { name: node.name, self: 0, total: 0, node };
    sum.self += node.self;
    const outer = !onPath.has(node.name); // recursion counts once
    if (outer) sum.total += node.value;
    if (node.value > sum.node.value) sum.node = node;
    sums.set(node.name, sum);
    if (outer) onPath.add(node.name);
    node.children.forEach(visit);
    if (outer) onPath.delete(node.name);
  };
  tree.children.forEach(visit);
  return [...sums.values()].sort((a, b) => b.self - a.self);
}

function Heaviest({ tree, onZoom }: { tree: FlameNode; onZoom(node: FlameNode): void }) {
  const rows = useMemo(() => heaviest(tree), [tree]);
  return (
    <section>
      <h2>Heaviest by their own time</h2>
      <table class="plain">
        <thead>
          <tr>
            <th>frame</th>
            <th class="n">own time</th>
            <th class="n">share</th>
            <th class="n">with what it calls</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, 25).map((row) => (
            <tr>
              <td class="name">
                <button type="button" class="link" onClick={() => onZoom(row.node)}>
                  {shorten(row.name, 110)}
                </button>
              </td>
              <td class="n">{duration(row.self)}</td>
              <td class="n">{percent(row.self / tree.value)}</td>
              <td class="n">{duration(row.total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="faint">{count(rows.length)} names in all. Click a box or a name to see it alone.</p>
    </section>
  );
}
