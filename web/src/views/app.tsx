// The page as a whole: which recording, which view, which theme.
import { useCallback, useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Theme } from "../colours";
import type { Recordings } from "../data/recordings";
import { fileName, type PageDocument, type Range, type Report, reportLabel, sidesOf } from "../data/report";
import { DifferenceView } from "./difference";
import { FlameView } from "./flame";
import { MemoryView } from "./memory";
import { Overview } from "./overview";
import { RanksView } from "./ranks";
import { TablesView } from "./tables";
import { type Focus, TimelineView } from "./timeline";

const kViews = ["overview", "timeline", "tables", "flame graph"] as const;
type ViewName = (typeof kViews)[number] | "ranks" | "memory" | "difference";

function startTheme(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function App({ page, recordings }: { page: PageDocument; recordings: Recordings }) {
  const [theme, setTheme] = useState<Theme>(startTheme);
  const [chosen, setChosen] = useState(0);
  const [view, setView] = useState<ViewName>(
    isOnlyDifference(page) ? "difference" : page.memory ? "memory" : isOfSummaries(page) ? "ranks" : "overview",
  );
  const [focus, setFocus] = useState<Focus | null>(null);
  const report = page.reports[chosen];
  const hasMemory = page.reports.some((_, i) => recordings.hasMemory(i));
  const sides = sidesOf(page, (index) => recordings.has(index));
  const views: ViewName[] = isOnlyDifference(page)
    ? ["difference"]
    : page.memory
      ? ["memory"]
      : isOfSummaries(page)
        ? ["ranks"]
        : [
            "overview",
            ...(page.difference ? (["difference"] as const) : []),
            ...(page.joint && page.reports.length > 1 ? (["ranks"] as const) : []),
            ...kViews.slice(1),
            ...(hasMemory ? (["memory"] as const) : []),
          ];

  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  useEffect(() => {
    document.title = `${pageTitle(page)} · Stepscope`;
  }, [page]);

  const showEvidence = useCallback(
    (range: Range, title: string, rank = chosen) => {
      setChosen(rank);
      setFocus({ range, title, at: Date.now() });
      setView("timeline");
    },
    [chosen],
  );

  return (
    <>
      <header class="top">
        <h1 title={report?.source.path}>
          <span class="brand">Stepscope</span> {pageTitle(page)}
        </h1>
        <div class="tabs" role="tablist" aria-label="Views" onKeyDown={(event) => moveTab(event, views, view, setView)}>
          {views.map((name) => (
            <button
              type="button"
              role="tab"
              id={`tab-${name.replace(" ", "-")}`}
              aria-selected={view === name}
              aria-controls="view"
              tabIndex={view === name ? 0 : -1}
              onClick={() => setView(name)}
            >
              {tabTitle(name, page)}
            </button>
          ))}
        </div>
        {page.reports.length > 1 && view !== "ranks" && view !== "difference" && (
          <label class="rank">
            recording{" "}
            <select value={chosen} onChange={(e) => setChosen(Number(e.currentTarget.value))}>
              {page.reports.map((r, i) => (
                <option value={i}>{reportLabel(r)}</option>
              ))}
            </select>
          </label>
        )}
        <button
          type="button"
          class="theme"
          aria-label={`Switch to the ${theme === "light" ? "dark" : "light"} theme`}
          onClick={() => setTheme(theme === "light" ? "dark" : "light")}
        >
          {theme === "light" ? "☾ dark" : "☀ light"}
        </button>
      </header>
      <main>
        <div
          id="view"
          role="tabpanel"
          aria-labelledby={`tab-${view.replace(" ", "-")}`}
          class={`view-${view.replace(" ", "-")}`}
        >
          {view === "difference" && page.difference && (
            <DifferenceView page={page.difference} theme={theme} recordings={recordings} sides={sides} />
          )}
          {view === "overview" && (
            <Overview
              page={page}
              report={report}
              index={chosen}
              recordings={recordings}
              theme={theme}
              onEvidence={showEvidence}
              onRank={setChosen}
            />
          )}
          {view === "ranks" && (
            <RanksView page={page} recordings={recordings} theme={theme} onEvidence={showEvidence} />
          )}
          {view === "timeline" && (
            <TimelineView
              key={chosen}
              index={chosen}
              report={report}
              recordings={recordings}
              theme={theme}
              focus={focus}
            />
          )}
          {view === "tables" && <TablesView key={chosen} index={chosen} report={report} recordings={recordings} />}
          {view === "memory" &&
            (recordings.hasMemory(chosen) ? (
              <MemoryView key={chosen} index={chosen} recordings={recordings} theme={theme} document={page.memory} />
            ) : (
              <p class="faint">No memory was recorded here.</p>
            ))}
          {view === "flame graph" && (
            <FlameView key={chosen} index={chosen} recordings={recordings} theme={theme} report={report} />
          )}
        </div>
      </main>
    </>
  );
}

function tabTitle(name: ViewName, page: PageDocument): string {
  if (name === "ranks" && page.joint && !page.joint.is_one_run) return "Recordings";
  return name[0].toUpperCase() + name.slice(1);
}

// No report stands beside it.
function isOnlyDifference(page: PageDocument): boolean {
  return page.difference !== null && page.joint === null;
}

// Only summaries of ranks were read: there is no recording to show.
function isOfSummaries(page: PageDocument): boolean {
  return page.reports.length === 0 && page.joint?.fleet !== undefined;
}

function pageTitle(page: PageDocument): string {
  if (isOfSummaries(page)) return `${page.joint?.fleet?.rank_count} ranks`;
  if (page.memory) return fileName(page.memory.source.path);
  if (page.difference && isOnlyDifference(page)) {
    const { difference } = page;
    const side = (files: string[]) => (files.length === 1 ? fileName(files[0]) : `${files.length} files`);
    return `${side(difference.before_files)} → ${side(difference.after_files)}`;
  }
  const reports: Report[] = page.reports.length > 0 ? page.reports : page.unusable;
  const first = reports[0] ? fileName(reports[0].source.path) : "nothing";
  return reports.length > 1
    ? `${reports.length} recordings: ${reports.map(reportLabel).slice(0, 4).join(", ")}`
    : first;
}

// As the pattern for tabs has it: arrows move and choose.
function moveTab(event: KeyboardEvent, views: ViewName[], view: ViewName, choose: (view: ViewName) => void): void {
  const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (by === 0) return;
  const next = views[(views.indexOf(view) + by + views.length) % views.length];
  choose(next);
  event.preventDefault();
  requestAnimationFrame(() => document.getElementById(`tab-${next.replace(" ", "-")}`)?.focus());
}
