// The recordings of a page, each unpacked when a view first asks for it: a page of eight ranks opens as fast as one.
import { useEffect, useState } from "preact/hooks";
import { MemoryModel } from "../memory/model";
import { base64Bytes, Container, elementText, inflate } from "./container";
import { Model } from "./model";

export class Recordings {
  private readonly models = new Map<number, Promise<Model>>();
  constructor(readonly count: number) {}

  get(index: number): Promise<Model> {
    let model = this.models.get(index);
    if (!model) {
      model = readModel(index);
      this.models.set(index, model);
    }
    return model;
  }

  has(index: number): boolean {
    return document.getElementById(`stepscope-recording-${index}`) !== null;
  }
  hasMemory(index: number): boolean {
    return document.getElementById(`stepscope-memory-${index}`) !== null;
  }
  private readonly memories = new Map<number, Promise<MemoryModel>>();
  memory(index: number): Promise<MemoryModel> {
    let model = this.memories.get(index);
    if (!model) {
      model = readMemory(index);
      this.memories.set(index, model);
    }
    return model;
  }
}

async function readModel(index: number): Promise<Model> {
  const packed = base64Bytes(elementText(`stepscope-recording-${index}`));
  return new Model(new Container(await inflate(packed)));
}

async function readMemory(index: number): Promise<MemoryModel> {
  const packed = base64Bytes(elementText(`stepscope-memory-${index}`));
  return new MemoryModel(new Container(await inflate(packed)));
}

export type Loaded = { model: Model } | { failed: string } | null;

// null while it is being unpacked.
export function useModel(recordings: Recordings, index: number): Loaded {
  return useLoaded<Model>(() => recordings.get(index), [recordings, index]);
}
export function useMemory(recordings: Recordings, index: number) {
  return useLoaded<MemoryModel>(() => recordings.memory(index), [recordings, index]);
}

function useLoaded<T>(load: () => Promise<T>, of: unknown[]): { model: T } | { failed: string } | null {
  const [loaded, setLoaded] = useState<{ model: T } | { failed: string } | null>(null);
  useEffect(() => {
    let current = true;
    setLoaded(null);
    load().then(
      (model) => current && setLoaded({ model }),
      (error: Error) => current && setLoaded({ failed: error.message }),
    );
    return () => {
      current = false;
    };
  }, of);
  return loaded;
}
