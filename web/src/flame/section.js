// The flame graph as a section of a page, with the heat map that selects a part of its time.
import { missing, section } from "../ui/dom.js";
import { makeSelection } from "../ui/time-selection.js";
import { flameGraph } from "./graph.js";
import { heatMap } from "./heat-map.js";
import { loadFlame } from "./model.js";

const TEXT = "Each sample is a stack of calls; equal stacks are merged, callers above callees. The wider a box, the more was spent in it and its callees. Weighted by critical time, a sample of a task counts less the more tasks ran at the same time: this is what elapsed time depends on. Click a box to zoom into it. Keys: arrows move, Enter zooms, Backspace goes back, Escape shows all, / searches.";

// `selection` is the time that other sections share, if any does.
export function flameSection({ flame, summary, timeline }, columns, selection = makeSelection()) {
  if (!flame || flame.reason || !flame.nodes_count) return section("flame", "Flame graph", TEXT, missing(flame?.reason ?? "The profiler delivered no samples."));
  const model = loadFlame(flame, columns);
  const time = heatMap(model, columns, selection ?? makeSelection(), timeline?.marks);
  return section("flame", "Flame graph", TEXT, flameGraph(model, summary?.window, time, columns.more));
}
