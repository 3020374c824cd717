// The critical path as data for drawing: no element is created here.

// What a cause is called, and what it means.
export const CAUSES = {
  slots_busy: ["all slots busy", "Every slot ran a task: more slots, or less work, would help."],
  too_few_tasks: ["fewer tasks than slots", "The stage had fewer tasks than there were slots: more partitions would help."],
  stage_tail: ["its last tasks", "All its tasks were launched; the last ones still ran while other slots were free."],
  waiting_to_launch: ["tasks waited to be launched", "Slots were free, but tasks were held back: locality, or the driver was slow."],
  executor_startup: ["waited for executors", "A stage was submitted, and there was no slot for it."],
  finishing: ["ending", "No task was left: results and bookkeeping."],
  running: ["ran", "The number of slots is unknown."],
};

export const WHERE = {
  start: "before the first query",
  in_query: "within a query, between its stages",
  between_queries: "between queries: the program itself",
  end: "after the last query",
};

export const stageName = (one) => `${one.stage_id}${one.stage_attempt ? `.${one.stage_attempt}` : ""}`;

// The causes of a stage, largest first: [[words, ns]].
export function causesOf(stage) {
  return Object.entries(stage.causes ?? {}).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]).map(([name, ns]) => [CAUSES[name]?.[0] ?? name.replaceAll("_", " "), ns]);
}

// Parts of a bar `width` wide: [{x, width, kind, stage, one}]; narrower ones than a pixel join their
// neighbour of the same kind, so that a thousand parts stay drawable.
export function drawn(path, total, width) {
  const found = [];
  for (const one of path) {
    const x = (one.start_ns / total) * width;
    const end = (one.end_ns / total) * width;
    const last = found[found.length - 1];
    const tiny = end - x < 1 && last && (last.kind === one.kind || last.width < 1);
    if (tiny) last.width = end - last.x;
    else found.push({ x, width: end - x, kind: one.kind, stage: one.kind === "stage" ? stageName(one) : null, one });
  }
  return found;
}
