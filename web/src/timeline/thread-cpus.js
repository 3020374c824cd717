// On which CPU each task thread was seen, over time: one point for a thread and a moment. Points of
// one thread in one row: it stayed; scattered over rows: the scheduler moved it.
import { css, cycled } from "../ui/colours.js";
import { time } from "../ui/format.js";
import { plate } from "./scale.js";

// A track like those of tracks.js: {height, draw, at, legend}.
export function threadCpus(track, columns) {
  const [at, cpu, thread] = ["time", "cpu", "thread"].map((name) => columns[track.columns[name]]);
  const row = track.cpus.length > 48 ? 4 : track.cpus.length > 16 ? 7 : 14;
  const line = new Map(track.cpus.map((number, index) => [number, index]));
  const many = track.threads.length > 1;
  const nodes = track.nodes ?? null;
  const first = (index) => nodes && nodes[index] !== null && nodes[index] !== nodes[index - 1];
  const called = (index) => `CPU ${track.cpus[index]}${nodes?.[index] === undefined || nodes?.[index] === null ? "" : ` (node ${nodes[index]})`}`;
  return {
    height: track.cpus.length * row + 2,
    draw(ctx, width, height, axis) {
      ctx.fillStyle = "rgba(128, 128, 128, 0.08)";
      for (let i = 1; i < track.cpus.length; i += 2) ctx.fillRect(0, i * row + 1, width, row);
      const scale = width / (axis.to - axis.from);
      const wide = Math.max(2, Math.min(8, track.step_ms * scale));
      for (let i = 0; i < at.length; i += 1) {
        if (at[i] > axis.to || at[i] + track.step_ms < axis.from) continue;
        // Threads that shared a CPU are drawn next to each other, not on top.
        const shift = many ? (thread[i] % 3) * (row / 4) : 0;
        ctx.fillStyle = cycled(thread[i]);
        ctx.fillRect((at[i] - axis.from) * scale, line.get(cpu[i]) * row + 1.5 + shift, wide, Math.max(1.5, row / (many ? 3 : 1.5)));
      }
      if (nodes) {
        // A line where the next node begins.
        ctx.fillStyle = css("--ink-dim");
        track.cpus.forEach((_, index) => { if (index && first(index)) ctx.fillRect(0, index * row + 0.5, width, 1); });
      }
      track.cpus.forEach((_, index) => {
        if (row >= 14) plate(ctx, called(index), 3, (index + 1) * row - 2, css("--ink-dim"));
        else if (first(index)) plate(ctx, `node ${nodes[index]}`, 3, index * row + 11, css("--ink-dim"));
      });
    },
    at(ms, y, slack = 0) {
      const place = Math.floor((y - 1) / row);
      const number = track.cpus[place];
      const near = Math.max(slack, track.step_ms);
      let best = -1;
      for (let i = 0; i < at.length; i += 1) {
        if (cpu[i] === number && Math.abs(at[i] - ms) <= near && (best < 0 || Math.abs(at[i] - ms) < Math.abs(at[best] - ms))) best = i;
      }
      if (best < 0) return null;
      const { pid, tid } = track.threads[thread[best]];
      return [`thread ${tid} on ${called(place)}`, [["process", pid], ["at", time(at[best] * 1e6)]], { range: [at[best], at[best] + track.step_ms], focus: null }];
    },
    legend: () => [],
  };
}
