// The parts of the memory timeline's page: plain HTML, CSS and JavaScript without a library.
//
// Bands are drawn on a canvas, since some thousand points in eight bands are too many elements for a page that is to
// follow the pointer; the table below says the same in numbers, for those who do not see the picture. Colours are Okabe
// and Ito's, which the colour-blind can tell apart, in both themes.
#pragma once

#include <string_view>

namespace stepscope {

inline constexpr std::string_view kTimelinePageHead = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
)page";

inline constexpr std::string_view kTimelinePageStyle = R"page(
<style>
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { max-width: 75rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.25rem; overflow-wrap: anywhere; }
canvas { width: 100%; height: 26rem; display: block; }
table { border-collapse: collapse; margin-top: 1rem; }
th, td { padding: .15rem .8rem .15rem 0; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .5em; }
</style></head><body>
)page";

inline constexpr std::string_view kTimelinePageBody = R"page(
<p id="verdict"></p>
<canvas id="bands" role="img" aria-label="Bytes held over time, by category; the table below has the numbers"></canvas>
<table><thead><tr><th>Category</th><th>At the peak</th><th id="here">At the pointer</th></tr></thead>
<tbody id="rows"></tbody></table>
<p>Categories are inferred from where memory was taken and given back; a trace does not say which tensor it was.</p>
<script>
"use strict";
)page";

inline constexpr std::string_view kTimelinePageScript = R"page(
const colours = ["#009e73", "#e69f00", "#555555", "#cc79a7", "#d55e00", "#0072b2", "#56b4e9", "#999999"];
const total = level => level.slice(1).reduce((a, b) => a + Math.max(b, 0), 0);
const bytesText = n => {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
    if (Math.abs(n) >= size) return (n / size).toFixed(2) + " " + unit;
  return n + " B";
};
const timeText = us => (us / 1000).toFixed(3) + " ms";
const canvas = document.getElementById("bands");
const end = levels.length ? Math.max(levels[levels.length - 1][0], 1) : 1;
const peak = levels.reduce((best, level) => (total(level) > total(best) ? level : best), levels[0] || [0, 0, 0, 0, 0, 0, 0, 0, 0]);
const most = Math.max(total(peak), 1);
let pointed = null;

function draw() {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const left = 80, bottom = height - 24, top = 16;
  const x = us => left + (us / end) * (width - left - 8);
  const y = bytes => bottom - (bytes / most) * (bottom - top);
  const ink = getComputedStyle(document.body).color;
  const below = levels.map(() => 0);
  for (let band = 0; band < names.length; ++band) {
    pen.beginPath();
    levels.forEach((level, i) => {  // a level lasts until the next one
      if (i) pen.lineTo(x(level[0]), y(below[i - 1] + Math.max(levels[i - 1][band + 1], 0)));
      pen.lineTo(x(level[0]), y(below[i] + Math.max(level[band + 1], 0)));
    });
    for (let i = levels.length - 1; i >= 0; --i) {
      pen.lineTo(x(levels[i][0]), y(below[i]));
      if (i) pen.lineTo(x(levels[i][0]), y(below[i - 1]));
    }
    pen.fillStyle = colours[band];
    pen.fill();
    levels.forEach((level, i) => { below[i] += Math.max(level[band + 1], 0); });
  }
  pen.fillStyle = pen.strokeStyle = ink;
  pen.font = "12px system-ui, sans-serif";
  for (let i = 0; i <= 4; ++i) {
    pen.fillText(bytesText(Math.round(most * i / 4)), 0, y(most * i / 4) + 4);
    pen.fillText(timeText(end * i / 4), Math.min(x(end * i / 4), width - 70), height - 6);
  }
  for (const [level, dash] of [[peak, [4, 3]], [pointed, []]]) {
    if (!level) continue;
    pen.setLineDash(dash);
    pen.beginPath();
    pen.moveTo(x(level[0]), top);
    pen.lineTo(x(level[0]), bottom);
    pen.stroke();
  }
}

function fill() {
  document.getElementById("verdict").textContent = levels.length
    ? "Peak " + bytesText(total(peak)) + " at " + timeText(peak[0]) + " (dashed)." : "No memory events.";
  document.getElementById("here").textContent = pointed ? "At " + timeText(pointed[0]) : "At the pointer";
  document.getElementById("rows").replaceChildren(...names.map((name, i) => {
    const row = document.createElement("tr"), head = document.createElement("td"), key = document.createElement("span");
    key.className = "key";
    key.style.background = colours[i];
    head.append(key, name);
    row.append(head);
    for (const level of [peak, pointed]) {
      const cell = document.createElement("td");
      cell.textContent = level ? bytesText(level[i + 1]) : "";
      row.append(cell);
    }
    return row;
  }));
}

canvas.addEventListener("pointermove", event => {
  const us = (event.offsetX - 80) / (canvas.clientWidth - 88) * end;
  let low = 0, high = levels.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (levels[middle][0] <= us) low = middle + 1; else high = middle;
  }
  pointed = levels[Math.max(low - 1, 0)] || null;
  draw();
  fill();
});
window.addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
fill();
draw();
</script></body></html>
)page";

}  // namespace stepscope
