import assert from "node:assert/strict";
import test from "node:test";
import { fromLink, toLink } from "../../src/flame/link.js";

const META = { event_names: ["cpu", "wall"], dimensions: { iteration: [null, 0, 1, 2], stage: [null, 3, 4], role: ["gc", "task"], operator: ["Sort & Co, <b>"] } };
const MEASURED = [2, 3];
const PLAIN = { event: "cpu", groups: [], filters: {}, inverted: false, weight: "time", colour: "what", text: "", root: -1, upright: false, runners: false };

test("a link brings back the view", () => {
  const views = [PLAIN,
    { ...PLAIN, event: "wall", groups: ["stage", "operator"], filters: { iteration: MEASURED, role: [1] }, inverted: true, weight: "critical", colour: "kind", text: "a&b=ü#%", root: 12, upright: true, runners: true },
    { ...PLAIN, event: "both", colour: "operator" },
    { ...PLAIN, filters: { stage: [0], operator: [0] } }];
  for (const view of views) assert.deepEqual(fromLink(toLink({ ...view, at: view.root }, META, MEASURED), META, MEASURED), view);
});

test("what a link asks for and the data do not have is left out", () => {
  assert.equal(fromLink("#plans", META, MEASURED), null);
  assert.deepEqual(fromLink("#flame?event=alloc&by=stage,bogus,role&stage=99&weight=x&zoom=-4&iteration=7", META, MEASURED), { ...PLAIN, groups: ["stage", "role"] });
});

test("a link holds the selected time, and nothing of it where there is none", () => {
  const meta = { event_names: ["cpu"], dimensions: { task: [7] } };
  const state = { event: "cpu", groups: [], filters: {}, weight: "time", colour: "what", text: "", at: -1 };
  const hash = toLink({ ...state, time: "1.5-2", only: '[{"task":[7]}]' }, meta, []);
  const { time, only } = fromLink(hash, meta, []);
  assert.deepEqual([time, only], ["1.5-2", '[{"task":[7]}]']);
  assert.ok(!/time|only/.test(toLink({ ...state, time: "", only: "" }, meta, [])));
});
