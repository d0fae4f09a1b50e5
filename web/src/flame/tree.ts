// Trees of time for flame graphs: from folded stacks, or from the host rows themselves.
import { type FoldedStack, kAsyncSpan, kCall, kFrame, kOperator, kSpan, type Model } from "../data/model";

export interface FlameNode {
  name: string;
  value: number; // ns, with what is below
  self: number;
  children: FlameNode[];
  parent: FlameNode | null;
}

class Builder {
  readonly root: FlameNode = { name: "all", value: 0, self: 0, children: [], parent: null };
  private readonly index = new Map<FlameNode, Map<string, FlameNode>>();

  child(parent: FlameNode, name: string): FlameNode {
    let names = this.index.get(parent);
    if (!names) {
      names = new Map();
      this.index.set(parent, names);
    }
    let node = names.get(name);
    if (!node) {
      node = { name, value: 0, self: 0, children: [], parent };
      names.set(name, node);
      parent.children.push(node);
    }
    return node;
  }
  add(path: string[], value: number): void {
    let node = this.root;
    node.value += value;
    for (const name of path) {
      node = this.child(node, name);
      node.value += value;
    }
    node.self += value;
  }
  finish(): FlameNode {
    const sort = (node: FlameNode) => {
      node.children.sort((a, b) => b.value - a.value);
      node.children.forEach(sort);
    };
    sort(this.root);
    return this.root;
  }
}

// Folded stacks have `_` for spaces; where the profiler's own spellings show which, they are put back.
export function unfolded(frame: string): string {
  return frame
    .replace(/\):_/, "): ")
    .replace(/^nn\.Module:_/, "nn.Module: ")
    .replace(/^<built-in_(function|method)_/, "<built-in $1 ")
    .replace(/_of_(\S+)_object_at_/, " of $1 object at ");
}

export function treeOfStacks(stacks: FoldedStack[]): FlameNode {
  const builder = new Builder();
  for (const { frames, value } of stacks) builder.add(frames.map(unfolded), value);
  return builder.finish();
}

export type Grouping = "operators" | "modules";
export const kModule = "nn.Module: ";
const kOutsideModules = "(outside modules)";

// Whether a graph by module has no module in it.
export function isOutsideModules(tree: FlameNode): boolean {
  return tree.children.every((node) => node.name === kOutsideModules);
}

// The path of each host row in the grouping, made in one walk with a stack of what is open.
class Paths {
  private readonly pathOf: Int32Array; // index into nodes, by host row
  readonly nodes: { parent: number; name: string }[] = [{ parent: -1, name: "" }];
  private readonly index = new Map<string, number>();

  constructor(
    private readonly model: Model,
    private readonly grouping: Grouping,
    private readonly withCalls: boolean,
  ) {
    this.pathOf = new Int32Array(model.host.count).fill(-1);
    for (const thread of model.threads) this.walk(thread.begin, thread.end);
  }
  private enter(parent: number, name: string): number {
    const key = `${parent} ${name}`;
    let at = this.index.get(key);
    if (at === undefined) {
      at = this.nodes.length;
      this.nodes.push({ parent, name });
      this.index.set(key, at);
    }
    return at;
  }
  private walk(begin: number, end: number): void {
    const { host } = this.model;
    const open: number[] = [];
    const paths: number[] = [];
    for (let i = begin; i < end; i++) {
      if (host.kind[i] === kAsyncSpan) continue;
      while (open.length > 0 && open[open.length - 1] <= host.start[i]) {
        open.pop();
        paths.pop();
      }
      let parent = paths.length > 0 ? paths[paths.length - 1] : 0;
      // Work of the backward pass belongs to the module of its forward operator.
      if (this.grouping === "modules" && parent === 0 && host.forward[i] > 0) {
        parent = Math.max(0, this.pathOf[host.forward[i] - 1]);
      }
      const here = this.counts(i) ? this.enter(parent, this.nameOf(i)) : parent;
      this.pathOf[i] = here;
      open.push(host.end[i]);
      paths.push(here);
    }
  }
  private counts(row: number): boolean {
    const kind = this.model.host.kind[row];
    if (this.grouping === "operators")
      return kind === kOperator || kind === kSpan || (this.withCalls && kind === kCall);
    return kind === kFrame && this.model.text(this.model.host.name[row]).startsWith(kModule);
  }
  private nameOf(row: number): string {
    const name = this.model.text(this.model.host.name[row]);
    return name.startsWith("ProfilerStep#") ? "ProfilerStep#N" : name;
  }
  at(row: number): number {
    return Math.max(0, this.pathOf[row]);
  }
  names(path: number): string[] {
    const out: string[] = [];
    for (let at = path; at > 0; at = this.nodes[at].parent) out.push(this.nodes[at].name);
    return out.reverse();
  }
}

function outside(grouping: Grouping): string {
  return grouping === "modules" ? kOutsideModules : "(outside operators)";
}

// GPU time by the place that launched it; the leaves are the kernels.
export function gpuTree(model: Model, grouping: Grouping): FlameNode {
  const paths = new Paths(model, grouping, false);
  const builder = new Builder();
  const { gpu } = model;
  const sums = new Map<number, number>(); // by path and kernel
  const names = model.strings.length;
  for (let row = 0; row < gpu.count; row++) {
    const origin = gpu.launch[row] || gpu.operator[row];
    const key = (origin > 0 ? paths.at(origin - 1) : 0) * names + gpu.name[row];
    sums.set(key, (sums.get(key) ?? 0) + gpu.end[row] - gpu.start[row]);
  }
  for (const [key, ns] of sums) {
    const path = paths.names(Math.floor(key / names));
    builder.add([...(path.length > 0 ? path : [outside(grouping)]), model.text(key % names)], ns);
  }
  return builder.finish();
}

// Host time: of each row what its children leave.
export function cpuTree(model: Model, grouping: Grouping): FlameNode {
  const paths = new Paths(model, grouping, true);
  const sums = new Float64Array(paths.nodes.length);
  const { host } = model;
  for (const thread of model.threads) {
    const open: number[] = [];
    for (let i = thread.begin; i < thread.end; i++) {
      if (host.kind[i] === kAsyncSpan || (grouping === "operators" && host.kind[i] === kFrame)) continue;
      while (open.length > 0 && host.end[open[open.length - 1]] <= host.start[i]) open.pop();
      const length = host.end[i] - host.start[i];
      if (open.length > 0) {
        const parent = open[open.length - 1];
        sums[paths.at(parent)] -= Math.min(length, Math.max(0, host.end[parent] - host.start[i]));
      }
      sums[paths.at(i)] += length;
      open.push(i);
    }
  }
  const builder = new Builder();
  for (let i = 0; i < paths.nodes.length; i++) {
    if (sums[i] <= 0) continue;
    const names = paths.names(i);
    builder.add(names.length > 0 ? names : [outside(grouping)], sums[i]);
  }
  return builder.finish();
}

// Boxes of an icicle graph: what is narrower than `least` of the whole is left out with what is below it.
export interface FlameBox {
  node: FlameNode;
  depth: number;
  from: number; // 0 to 1
  to: number;
}
export function layoutFlame(root: FlameNode, least: number): FlameBox[] {
  const out: FlameBox[] = [];
  const place = (node: FlameNode, depth: number, from: number) => {
    const width = node.value / root.value;
    if (width < least || depth > 400) return;
    out.push({ node, depth, from, to: from + width });
    let at = from;
    for (const child of node.children) {
      place(child, depth + 1, at);
      at += child.value / root.value;
    }
  };
  if (root.value > 0) place(root, 0, 0);
  return out;
}
