// How estimates with their intervals are written.
import { gone, NONE, significant, time } from "./format.js";

export const seconds = (value) => (gone(value) ? NONE : time(value * 1e9));

export const range = (one, show) => (gone(one?.low) || gone(one?.high) ? null : `${show(one.low)} to ${show(one.high)}`);

// "1.50× (1.42× to 1.58×)"
export const within = (one, show) => (gone(one?.value) ? null : `${show(one.value)}${range(one, show) ? ` (${range(one, show)})` : ""}`);

export const times = (value) => (gone(value) ? NONE : `${significant(value)}×`);

export const p = (value) => (gone(value) ? NONE : value < 0.001 ? "< 0.001" : significant(value, 2));

// "p = 0.03", also where it is too small to be written.
export const pIs = (value) => (value < 0.001 ? "p < 0.001" : `p = ${p(value)}`);
