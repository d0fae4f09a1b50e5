// Builds the page template: one HTML file whose script and style stand in it, with a policy that names their hashes.
//
// The policy lets nothing else run or load: data from traces stands in script elements of a type that never runs, and
// is base64, so this is the second wall and not the first. The hashes must be of what finally stands in the file, so
// the policy is added last, when everything else has been inlined.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

function hashes(html: string, element: string): string {
  const found = [...html.matchAll(new RegExp(`<${element}\\b[^>]*>([\\s\\S]*?)</${element}>`, "g"))];
  return found.map((m) => `'sha256-${createHash("sha256").update(m[1]).digest("base64")}'`).join(" ");
}

function contentSecurityPolicy(): Plugin {
  return {
    name: "content-security-policy",
    enforce: "post",
    writeBundle(options) {
      const path = `${options.dir}/page.html`;
      const html = readFileSync(path, "utf8").replace(/ crossorigin/g, "");
      const policy = [
        "default-src 'none'",
        `script-src ${hashes(html, "script")}`,
        `style-src ${hashes(html, "style")}`,
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}" />`;
      writeFileSync(
        path,
        html.replace("<!--stepscope-policy-->", () => meta),
      );
    },
  };
}

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), contentSecurityPolicy()],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    modulePreload: false,
    rollupOptions: { input: "page.html" },
  },
  test: { environment: "happy-dom", include: ["tests/**/*.test.ts", "tests/**/*.test.tsx"] },
} as Parameters<typeof defineConfig>[0]);
