// How far apart two colours are for an eye: CIEDE2000 (Sharma, Wu, Dalal: The CIEDE2000
// color-difference formula, Color Research & Application 30(1), 2005), and how eyes without one kind
// of cone see a colour (Machado, Oliveira, Fernandes: A physiologically-based model for simulation of
// color vision deficiency, IEEE TVCG 15(6), 2009; severity 1, on linear RGB).

export const VISIONS = {
  normal: null,
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const times = (matrix, vector) => matrix.map((row) => row.reduce((sum, factor, at) => sum + factor * vector[at], 0));

function linear(hex) {
  return [1, 3, 5].map((at) => {
    const c = parseInt(hex.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
}

const XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]; // sRGB, D65

// CIELAB of a colour "#rrggbb" as seen with one of VISIONS.
export function lab(hex, vision = "normal") {
  const seen = VISIONS[vision] ? times(VISIONS[vision], linear(hex)).map((c) => Math.min(1, Math.max(0, c))) : linear(hex);
  const white = XYZ.map((row) => row[0] + row[1] + row[2]);
  const [x, y, z] = times(XYZ, seen).map((value, at) => value / white[at]).map((t) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const rad = (degrees) => (degrees * Math.PI) / 180;

export function ciede2000([l1, a1, b1], [l2, a2, b2]) {
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const [c1, c2] = [Math.hypot(a1 * (1 + g), b1), Math.hypot(a2 * (1 + g), b2)];
  const hue = (a, b) => (a === 0 && b === 0 ? 0 : ((Math.atan2(b, a * (1 + g)) * 180) / Math.PI + 360) % 360);
  const [h1, h2] = [hue(a1, b1), hue(a2, b2)];
  const grey = c1 * c2 === 0;
  const turn = grey ? 0 : h2 - h1 > 180 ? h2 - h1 - 360 : h2 - h1 < -180 ? h2 - h1 + 360 : h2 - h1;
  const [dl, dc, dh] = [l2 - l1, c2 - c1, 2 * Math.sqrt(c1 * c2) * Math.sin(rad(turn / 2))];
  const [l, c, sum] = [(l1 + l2) / 2, (c1 + c2) / 2, h1 + h2];
  const h = grey ? sum : Math.abs(h1 - h2) <= 180 ? sum / 2 : sum < 360 ? sum / 2 + 180 : sum / 2 - 180;
  const t = 1 - 0.17 * Math.cos(rad(h - 30)) + 0.24 * Math.cos(rad(2 * h)) + 0.32 * Math.cos(rad(3 * h + 6)) - 0.2 * Math.cos(rad(4 * h - 63));
  const [sl, sc, sh] = [1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2), 1 + 0.045 * c, 1 + 0.015 * c * t];
  const rt = -2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) * Math.sin(rad(60 * Math.exp(-(((h - 275) / 25) ** 2))));
  return Math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rt * (dc / sc) * (dh / sh));
}

// The closest two of `colours` ({name: "#rrggbb"}) for an eye: {distance, pair}. Equal colours of one
// meaning are one colour: `same(a, b)` says so.
export function closest(colours, vision, same = () => false) {
  const names = Object.keys(colours);
  let found = { distance: Infinity, pair: null };
  names.forEach((a, at) => names.slice(at + 1).forEach((b) => {
    if (same(a, b)) return;
    const distance = ciede2000(lab(colours[a], vision), lab(colours[b], vision));
    if (distance < found.distance) found = { distance, pair: [a, b] };
  }));
  return found;
}
