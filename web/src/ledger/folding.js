// Rows of a ledger as a tree, small ones together. No element is created here.

export const SMALL = 0.005;

// Rows as a tree: [{row, name, children, value}].
export function tree(rows) {
  const nodes = new Map(rows.map((row) => [row.path, { row, name: row.path.slice(row.path.lastIndexOf("/") + 1), children: [], value: row.value_ns ?? 0 }]));
  const roots = [];
  for (const row of rows) {
    const node = nodes.get(row.path);
    const parent = row.parent && nodes.get(row.parent);
    (parent ? parent.children : roots).push(node);
  }
  return roots;
}

const absent = ({ row }) => row && (row.value_ns === null || row.value_ns === undefined);

// Nodes with those below half a per cent of the total in one at the end: {rest: true, children, value}.
// One alone stays: a line for it is no longer than a line about it.
export function folded(nodes, total) {
  const small = nodes.filter((node) => !absent(node) && Math.abs(node.value) < SMALL * (total || 1));
  if (small.length < 2) return nodes;
  return [...nodes.filter((node) => !small.includes(node)), { rest: true, children: small, value: small.reduce((sum, node) => sum + node.value, 0) }];
}

// Whether the parts of a node are hidden at first: shares of samples, and what is small altogether.
export function startsClosed(node, total) {
  if (node.rest || node.row.method === "sampled") return true;
  return node.children.every((child) => !absent(child) && Math.abs(child.value) < SMALL * (total || 1));
}
