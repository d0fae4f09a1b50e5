// The recordings of a page, each unpacked when a view first asks for it: a page of eight ranks opens as fast as one.
import { useEffect, useState } from "preact/hooks";
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
}

async function readModel(index: number): Promise<Model> {
  const packed = base64Bytes(elementText(`stepscope-recording-${index}`));
  return new Model(new Container(await inflate(packed)));
}

export type Loaded = { model: Model } | { failed: string } | null;

// null while it is being unpacked.
export function useModel(recordings: Recordings, index: number): Loaded {
  const [loaded, setLoaded] = useState<Loaded>(null);
  useEffect(() => {
    let current = true;
    setLoaded(null);
    recordings.get(index).then(
      (model) => current && setLoaded({ model }),
      (error: Error) => current && setLoaded({ failed: error.message }),
    );
    return () => {
      current = false;
    };
  }, [recordings, index]);
  return loaded;
}
