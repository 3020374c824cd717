// From the link of a piece of evidence to what it opens on this page.

const SECTIONS = { ledger: "ledger", jvm: "jvm", flame: "flame", timeline: "timeline", stage: "stages", sql: "plans" };
const NAMES = { ledger: "ledger", jvm: "JVM", flame: "flame graph", timeline: "timeline", stages: "stage", plans: "plan" };

// {section, label, stage?, sql?, node?}; null for a link that this page does not know.
export function target(link) {
  const [kind, ...ids] = (link ?? "").split("/").filter(Boolean);
  const section = SECTIONS[kind];
  if (!section) return null;
  const found = { section, label: NAMES[section] };
  if (kind === "stage" && ids.length) {
    const [id, attempt] = ids;
    found.stage = attempt && attempt !== "0" ? `${id}.${attempt}` : id;
    found.label = `stage ${found.stage}`;
  }
  if (kind === "sql" && ids.length) {
    [found.sql, found.node] = ids;
    found.label = found.node === undefined ? `SQL execution ${found.sql}` : `node ${found.node} of SQL execution ${found.sql}`;
  }
  return found;
}

// Goes there: the stage's tasks are opened, the operator is selected in its plan.
export function open(goal) {
  const section = document.getElementById(goal.section);
  if (!section) return;
  const inside = goal.stage !== undefined ? openStage(section, goal.stage) : goal.sql !== undefined ? openNode(section, goal) : null;
  (inside ?? section).scrollIntoView({ block: inside ? "center" : "start" });
  const focus = inside?.closest("[tabindex]") ?? inside?.querySelector("button") ?? section.querySelector("h2");
  if (focus) {
    if (!focus.matches("button, a, [tabindex]")) focus.setAttribute("tabindex", "-1");
    focus.focus({ preventScroll: true });
  }
}

function openStage(section, name) {
  const button = stageButton(section, name) ?? (unfold(section) ? stageButton(section, name) : null);
  if (!button) return null;
  if (button.getAttribute("aria-expanded") !== "true") button.click();
  return button.closest("tr");
}

// Of several applications the stage of the one that has it: a name such as 0·3 ends in the stage's.
function stageButton(section, name) {
  const own = section.querySelector(`.stage-open[data-stage="${CSS.escape(name)}"]`);
  if (own) return own;
  const others = section.querySelectorAll(`.stage-open[data-stage$="${CSS.escape(`·${name}`)}"]`);
  return others.length === 1 ? others[0] : null;
}

// Draws the rows of a long table that are not drawn yet; whether there were any.
function unfold(section) {
  const more = section.querySelector("button.more:not([hidden])");
  more?.click();
  return Boolean(more);
}

function openNode(section, { sql, node }) {
  const pick = section.querySelector("#plan-pick");
  const option = pick?.querySelector(`option[data-sql="${CSS.escape(sql)}"]`);
  if (!option) return null;
  pick.value = option.value;
  pick.dispatchEvent(new Event("change"));
  const row = node === undefined ? null : section.querySelector(`[role="option"][id$="-${CSS.escape(sql)}-${CSS.escape(node)}"]`);
  row?.click();
  return row ?? pick;
}
