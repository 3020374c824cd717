// The operators of a plan without the nodes that only wrap them.

// Adaptive execution, stages of it, and inputs of generated code do no work of their own.
const WRAPPER = /^(AdaptiveSparkPlan|InputAdapter|\w*QueryStage|Photon(Result|ShuffleMap)Stage)\b/;
const CLUSTER = /^WholeStageCodegen\b/;

export const isCluster = (node) => CLUSTER.test(node.name);

// Nodes with wrappers folded into their only child, which takes over their time and metrics.
// A cluster of generated code stays, as the frame around its operators (`members`: their ids).
export function fold(nodes) {
  const children = new Map();
  for (const node of nodes) children.set(node.parent_node_id, [...(children.get(node.parent_node_id) ?? []), node]);
  const wraps = (node) => WRAPPER.test(node.name) && children.get(node.node_id)?.length === 1;
  const kept = new Map();
  const above = new Map(); // a folded node: the nearest node above it that stays, and what it hands down
  for (const node of nodes) {
    const from = above.get(node.parent_node_id) ?? { parent: node.parent_node_id, wrappers: [] };
    if (wraps(node)) above.set(node.node_id, { parent: from.parent, wrappers: [...from.wrappers, node] });
    else kept.set(node.node_id, merged(node, from));
  }
  return [...kept.values()];
}

function merged(node, { parent, wrappers }) {
  if (!wrappers.length) return { ...node, parent_node_id: parent };
  const all = [node, ...wrappers];
  const sum = (name) => {
    const known = all.map((one) => one[name]).filter((value) => value !== null && value !== undefined);
    return known.length ? known.reduce((a, b) => a + b, 0) : null;
  };
  return {
    ...node, parent_node_id: parent, wrappers: wrappers.map((one) => one.name),
    on_cpu_ns: sum("on_cpu_ns"), off_cpu_ns: sum("off_cpu_ns"), samples_count: sum("samples_count"),
    stage_ids: [...new Set(all.flatMap((one) => one.stage_ids ?? []))].sort((a, b) => a - b),
    metrics: all.flatMap((one) => one.metrics ?? []),
  };
}

// For each node the cluster it is drawn in, or null: operators of its number, joined without a gap.
export function frames(nodes) {
  const byId = new Map(nodes.map((node) => [node.node_id, node]));
  const found = new Map();
  for (const node of nodes) {
    const parent = byId.get(node.parent_node_id);
    const around = parent && (isCluster(parent) ? parent.node_id : found.get(parent.node_id));
    const number = around !== undefined && around !== null && Number(/\((\d+)\)/.exec(byId.get(around).name)?.[1]);
    found.set(node.node_id, !isCluster(node) && number && node.codegen_stage_id === number ? around : null);
  }
  return found;
}
