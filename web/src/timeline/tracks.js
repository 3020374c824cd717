// How each kind of track is drawn on its canvas, and what it shows under the pointer.
import { COLOURS, css, cycled, ink, named, STATUS_COLOURS } from "../ui/colours.js";
import { time, unit, words } from "../ui/format.js";
import { means } from "./numbers.js";
import { capacityLine, capacityOf, gridLabels, gridLines, topOf } from "./scale.js";
import { threadCpus } from "./thread-cpus.js";

const SERIES = { used: cycled(0), available: COLOURS.idle, "page cache": cycled(1), committed: COLOURS.idle, user: named("user"), system: named("system"), irq: cycled(3), iowait: named("iowait"), steal: named("steal"), "disk reads": cycled(2), "disk writes": cycled(3), "read calls of the application": cycled(5) };

export function seriesColour(label, index) {
  return SERIES[label] ?? cycled(index);
}

// A track bound to its columns: {height, draw(ctx, w, h, axis), at(ms, y, slack), legend(ms)}. `at`
// gives what is drawn there: a title, facts, and the time and samples that a click selects.
export function makeTrack(track, columns, step, others = []) {
  if (track.kind === "tasks") return tasks(track, columns);
  if (track.kind === "stages") return stages(track, columns, others.find((other) => other.kind === "tasks")?.stages ?? []);
  if (track.kind === "pauses") return pauses(track, columns);
  if (track.kind === "places") return threadCpus(track, columns);
  return series(track, columns, step);
}

function tasks(track, columns) {
  const [start, length, lane, stage, status, id] = ["start", "length", "lane", "stage", "status", "id"].map((name) => columns[track.columns[name]]);
  const lanes = track.lanes.length;
  const row = lanes > 32 ? 6 : lanes > 12 ? 10 : 16;
  const success = track.statuses.indexOf("success");
  const several = new Set(track.lanes.map((where) => where.executor)).size > 1;
  return {
    height: lanes * row + 2,
    draw(ctx, width, height, axis) {
      const scale = width / (axis.to - axis.from);
      if (several) executors(ctx, track.lanes, row, width);
      for (let i = 0; i < start.length; i += 1) {
        if (start[i] > axis.to || start[i] + length[i] < axis.from) continue;
        const x = Math.max(-2, (start[i] - axis.from) * scale);
        const w = Math.max(0.7, (start[i] + length[i] - axis.from) * scale - x);
        const y = lane[i] * row + 1;
        const colour = cycled(stage[i]);
        ctx.fillStyle = colour;
        ctx.fillRect(x, y, w > 3 ? w - 0.7 : w, row - 1.5);
        if (status[i] !== success) {
          ctx.fillStyle = STATUS_COLOURS[track.statuses[status[i]]] ?? "#000";
          ctx.fillRect(x, y + row - 5, Math.max(1.5, w), 3.5);
        }
        if (w > 46 && row >= 14) {
          ctx.fillStyle = ink(colour);
          ctx.fillText(track.stages[stage[i]].label, x + 4, y + row - 5, w - 8);
        }
      }
    },
    at(ms, y) {
      const hit = Math.floor((y - 1) / row);
      for (let i = start.length - 1; i >= 0; i -= 1) {
        if (lane[i] === hit && ms >= start[i] && ms <= start[i] + length[i]) {
          const where = track.lanes[hit];
          const { label, stage_id: number } = track.stages[stage[i]];
          return [`${label} · task ${id[i]}`, [["time", time(length[i] * 1e6)], ["status", track.statuses[status[i]]], ["executor", `${where.executor} (${where.host})`], ["lane", where.slot]],
            { range: [start[i], start[i] + Math.max(1, length[i])], focus: [{ task: [id[i]] }, { stage: [number], executor: [where.executor] }, { stage: [number] }] }];
        }
      }
      return null;
    },
    // Colours are stages; a stripe tells what did not end well.
    legend: () => [...new Set(status)].filter((one) => one !== success).map((one) => ({ label: track.statuses[one], colour: STATUS_COLOURS[track.statuses[one]] ?? "#000", value: "" })),
  };
}

// Stage attempts as bars, in the colours that their tasks have.
function stages(track, columns, drawn) {
  const [start, length, lane] = ["start", "length", "lane"].map((name) => columns[track.columns[name]]);
  const row = 14;
  const place = new Map(drawn.map(({ label }, index) => [label, index]));
  const colours = track.stages.map(({ label }, index) => cycled(place.get(label) ?? index));
  return {
    height: track.lanes * row + 2,
    draw(ctx, width, height, axis) {
      const scale = width / (axis.to - axis.from);
      for (let i = 0; i < start.length; i += 1) {
        if (start[i] > axis.to || start[i] + length[i] < axis.from) continue;
        const x = Math.max(-2, (start[i] - axis.from) * scale);
        const w = Math.max(0.7, (start[i] + length[i] - axis.from) * scale - x);
        ctx.fillStyle = colours[i];
        ctx.fillRect(x, lane[i] * row + 1, w > 3 ? w - 0.7 : w, row - 1.5);
        if (w < 46) continue;
        ctx.fillStyle = ink(colours[i]);
        ctx.fillText(track.stages[i].label, x + 4, lane[i] * row + row - 3.5, w - 8);
      }
    },
    at(ms, y, slack) {
      const hit = Math.floor((y - 1) / row);
      let best = null;
      let closest = slack;
      for (let i = 0; i < start.length; i += 1) {
        if (lane[i] !== hit) continue;
        const away = Math.max(0, start[i] - ms, ms - start[i] - length[i]);
        if (away <= closest) [best, closest] = [i, away];
      }
      if (best === null) return null;
      const { label, name, stage_id: number, status } = track.stages[best];
      return [label, [["time", time(length[best] * 1e6)], ["status", status], ["name", name]], { range: [start[best], start[best] + Math.max(1, length[best])], focus: [{ stage: [number] }] }];
    },
    legend: () => [],
  };
}

// A line and a name where the lanes of another executor begin.
function executors(ctx, lanes, row, width) {
  lanes.forEach((where, lane) => {
    if (lane && lanes[lane - 1].executor === where.executor) return;
    ctx.fillStyle = css("--rail");
    ctx.fillRect(0, lane * row, width, 0.6);
    ctx.fillStyle = css("--ink-dim");
    ctx.fillText(`executor ${where.executor}`, 4, lane * row + 11);
  });
}

function pauses(track, columns) {
  const [start, length, row, name] = ["start", "length", "row", "name"].map((key) => columns[track.columns[key]]);
  const height = 20;
  return {
    height: track.rows.length * height + 2,
    draw(ctx, width, full, axis) {
      // Height is the share of the pixel's time that was stopped, so that many short pauses do not
      // look like one long one; the least that happened is still seen.
      const stopped = track.rows.map(() => new Float64Array(Math.ceil(width)));
      const pixel = (axis.to - axis.from) / width;
      for (let i = 0; i < start.length; i += 1) {
        const end = start[i] + length[i];
        if (start[i] > axis.to || end < axis.from) continue;
        const last = Math.min(stopped[0].length - 1, Math.floor((end - axis.from) / pixel));
        for (let x = Math.max(0, Math.floor((start[i] - axis.from) / pixel)); x <= last; x += 1) {
          const left = axis.from + x * pixel;
          stopped[row[i]][x] += Math.max(Math.min(end, left + pixel) - Math.max(start[i], left), 1e-9) / pixel;
        }
      }
      stopped.forEach((shares, line) => {
        ctx.fillStyle = line ? COLOURS.vm : named("gc");
        shares.forEach((share, x) => {
          const tall = share > 0 ? Math.max(3, Math.min(1, share) * (height - 3)) : 0;
          if (tall) ctx.fillRect(x, (line + 1) * height - 1 - tall, 1, tall);
        });
      });
    },
    at(ms, y, slack) {
      const hit = Math.floor((y - 1) / height);
      let best = null;
      let closest = slack;
      for (let i = 0; i < start.length; i += 1) {
        if (row[i] !== hit) continue;
        const away = Math.max(0, start[i] - ms, ms - start[i] - length[i]);
        if (away <= closest) [best, closest] = [i, away];
      }
      return best === null ? null : [words(track.names[name[best]]), [["stopped for", time(length[best] * 1e6)], ["kind", track.rows[row[best]]]], { range: [start[best], start[best] + length[best]], focus: null }];
    },
    legend: () => track.rows.map((label, index) => ({ label, colour: index ? COLOURS.vm : named("gc"), value: "" })),
  };
}

function series(track, columns, step) {
  const lines = track.series.map((item, index) => ({ ...item, colour: seriesColour(item.label, index), data: columns[item.value], lows: columns[item.low], highs: columns[item.high] }));
  const stacked = track.kind === "stack";
  const count = lines[0].data.length;
  const capacity = capacityOf(track.capacity, columns);
  let most = 0;
  for (let i = 0; i < count; i += 1) {
    let sum = 0;
    for (const line of lines) {
      const value = line.highs ? line.highs[i] : line.data[i];
      if (Number.isNaN(value)) continue;
      sum = stacked ? sum + value : Math.max(sum, value);
    }
    most = Math.max(most, sum);
  }
  const top = topOf(most, capacity);
  let seen = null; // part of the time that was drawn last
  const mean = (line) => {
    const [value] = seen ? means(line.data, step, ...seen, 1) : [NaN];
    return Number.isNaN(value) ? "" : `mean ${unit(value, track.unit)}`;
  };
  const bucket = (ms) => Math.min(count - 1, Math.max(0, Math.floor(ms / step)));
  return {
    height: Math.max(72, 44 + lines.length * 18),
    draw(ctx, width, height, axis) {
      const first = Math.max(0, Math.floor(axis.from / step) - 1);
      const last = Math.min(count - 1, Math.ceil(axis.to / step) + 1);
      const x = (i) => axis.x((i + 0.5) * step, width);
      const y = (value) => height - 1 - (Math.min(value, top) / top) * (height - 5);
      const values = gridLines(ctx, width, height, top, track.unit, y);
      if (stacked) stack(ctx, lines, first, last, x, y);
      else for (const line of lines) curve(ctx, line, first, last, x, y);
      capacityLine(ctx, capacity, first, last, x, y, width, track.unit);
      gridLabels(ctx, values, track.unit, y);
      seen = [axis.from, axis.to];
    },
    at: () => null,
    // Without a pointer the means of what is in view.
    legend: (ms) => lines.map((line) => ({ label: line.label, colour: line.colour, value: ms === null ? mean(line) : unit(line.data[bucket(ms)], track.unit) })),
  };
}

// Series on top of each other, with gaps where none was read.
function stack(ctx, lines, first, last, x, y) {
  const base = new Float64Array(Math.max(0, last - first + 1));
  const known = (i) => lines.some((line) => !Number.isNaN(line.data[i]));
  const parts = [];
  for (let i = first; i <= last; i += 1) {
    if (!known(i)) continue;
    if (parts.at(-1)?.[1] === i - 1) parts.at(-1)[1] = i;
    else parts.push([i, i]);
  }
  for (const line of lines) {
    ctx.fillStyle = line.colour;
    ctx.globalAlpha = 0.85;
    for (const [low, high] of parts) {
      const [lower, upper] = [y(base[low - first]), y(base[low - first] + (line.data[low] || 0))];
      if (low === high) ctx.fillRect(x(low) - 0.5, upper, 1, lower - upper);
      ctx.beginPath();
      for (let i = low; i <= high; i += 1) ctx.lineTo(x(i), y(base[i - first] + (line.data[i] || 0)));
      for (let i = high; i >= low; i -= 1) ctx.lineTo(x(i), y(base[i - first]));
      ctx.closePath();
      ctx.fill();
    }
    ctx.globalAlpha = 1;
    for (let i = first; i <= last; i += 1) base[i - first] += line.data[i] || 0;
  }
}

function curve(ctx, line, first, last, x, y) {
  if (line.lows) {
    ctx.fillStyle = line.colour;
    ctx.globalAlpha = 0.2;
    for (let i = first; i <= last; i += 1) {
      if (!Number.isNaN(line.lows[i])) ctx.fillRect(x(i) - 0.6, y(line.highs[i]), Math.max(1.2, x(i + 1) - x(i)), Math.max(1, y(line.lows[i]) - y(line.highs[i])));
    }
    ctx.globalAlpha = 1;
  }
  ctx.strokeStyle = line.colour;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  let pen = false;
  for (let i = first; i <= last; i += 1) {
    const value = line.data[i];
    if (Number.isNaN(value)) pen = false;
    else if (pen) ctx.lineTo(x(i), y(value));
    else {
      ctx.moveTo(x(i), y(value));
      pen = true;
    }
  }
  ctx.stroke();
  ctx.lineWidth = 1;
}
