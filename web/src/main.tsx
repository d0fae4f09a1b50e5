// Opens the page: the document first, since the first view needs nothing else.
import { render } from "preact";
import { base64Bytes, elementText, inflate } from "./data/container";
import { Recordings } from "./data/recordings";
import { readDocument } from "./data/report";
import "./page.css";
import { App } from "./views/app";

async function readJson(id: string): Promise<unknown> {
  const packed = elementText(id);
  return packed === "" ? null : JSON.parse(new TextDecoder().decode(await inflate(base64Bytes(packed))));
}

async function open(root: HTMLElement): Promise<void> {
  const document = await readJson("stepscope-document");
  if (document === null) throw new Error("This page holds no recording: it is the empty template.");
  const page = readDocument(document, await readJson("stepscope-difference"));
  root.textContent = "";
  render(<App page={page} recordings={new Recordings(page.memory ? 1 : page.reports.length)} />, root);
}

const root = document.getElementById("app");
if (root) {
  open(root).catch((error: Error) => {
    const message = document.createElement("p");
    message.className = "failed";
    message.setAttribute("role", "alert");
    message.textContent = `This page cannot be shown. ${error.message}`;
    root.replaceChildren(message);
  });
}
