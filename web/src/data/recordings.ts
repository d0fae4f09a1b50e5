// The recordings of a page, each unpacked when a view first asks for it: a page of eight ranks opens as fast as one.
import { useEffect, useState } from "preact/hooks";
import { MemoryModel } from "../memory/model";
import { unpack } from "./container";
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
  return new Model(await unpack(`stepscope-recording-${index}`));
}

async function readMemory(index: number): Promise<MemoryModel> {
  return new MemoryModel(await unpack(`stepscope-memory-${index}`));
}

// null while it is being unpacked; views/waiting.tsx shows what is not there.
export type Loaded<T> = { model: T } | { failed: string } | null;

export function isLoaded<T>(loaded: Loaded<T>): loaded is { model: T } {
  return loaded !== null && "model" in loaded;
}

export function useModel(recordings: Recordings, index: number): Loaded<Model> {
  return useLoaded<Model>(() => recordings.get(index), [recordings, index]);
}
export function useMemory(recordings: Recordings, index: number): Loaded<MemoryModel> {
  return useLoaded<MemoryModel>(() => recordings.memory(index), [recordings, index]);
}

export function useLoaded<T>(load: () => Promise<T>, of: unknown[]): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>(null);
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
