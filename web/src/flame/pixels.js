// Boxes as pixels: one for each row and column of a picture, stretched to the height of a row. What a
// picture costs depends on its size, not on the number of its boxes.

export function pixelStrip() {
  const canvas = document.createElement("canvas");
  const ctx = canvas.getContext("2d");
  let [width, pixels] = [0, null];
  let last = { fill: "", alpha: 0, pixel: 0 };

  // The colour `#rrggbb` as a pixel; neighbours mostly have the same.
  function pixel(fill, alpha) {
    if (fill !== last.fill || alpha !== last.alpha) {
      const [red, green, blue] = [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16));
      const bytes = Uint8Array.of(red, green, blue, Math.round(255 * alpha));
      last = { fill, alpha, pixel: new Uint32Array(bytes.buffer)[0] };
    }
    return last.pixel;
  }

  return {
    begin(columns, rows) {
      width = columns;
      [canvas.width, canvas.height] = [columns, rows];
      pixels = new Uint32Array(columns * rows);
    },
    // A box from column x, `w` wide; between boxes that are wide enough there is a gap.
    add(row, x, w, fill, alpha) {
      const from = Math.min(width - 1, Math.max(0, Math.round(x)));
      const to = Math.min(width, Math.max(from + 1, Math.round(x + w) - (w > 3 ? 1 : 0)));
      pixels.fill(pixel(fill, alpha), row * width + from, row * width + to);
    },
    // All rows onto a canvas, the first at `y`, each `high` of which a line stays free.
    drawOn(target, y, wide, high) {
      const { height } = canvas;
      ctx.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0);
      target.imageSmoothingEnabled = false;
      target.drawImage(canvas, 0, y, wide, height * high);
      for (let row = 1; row <= height; row += 1) target.clearRect(0, y + row * high - 1, wide, 1);
    },
  };
}
