// The flame graph as a picture to keep.

const CHAR = 6.6; // width of a character at the font's size, on the safe side

// An SVG of boxes {x, y, w, fill, label, title}; every box has its whole name as a tool tip.
export function drawing(width, height, row, boxes) {
  const parts = boxes.map(({ x, y, w, fill, label, title }) => {
    const room = Math.floor((w - 6) / CHAR);
    const text = label.length <= room ? label : room >= 4 ? `${label.slice(0, room - 1)}…` : "";
    return `<g><title>${escape(title)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, w - (w > 3 ? 0.8 : 0)).toFixed(1)}" height="${row - 1}" fill="${escape(fill)}"/>${text && `<text x="${(x + 3).toFixed(1)}" y="${y + row - 5}">${escape(text)}</text>`}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="11">\n${parts.join("\n")}\n</svg>\n`;
}

// Names of frames may hold any character; those that XML cannot express are left out.
function escape(text) {
  return String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "").replace(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char]);
}

export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const anchor = Object.assign(document.createElement("a"), { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
