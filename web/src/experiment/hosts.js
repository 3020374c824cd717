// Canaries of a cluster's hosts before a trial, in a few words.
import { gone, signedPercent } from "../ui/format.js";
import { seconds } from "../ui/estimates.js";
import { canary } from "./order.js";

const MOST = 3;

// How much slower a measure makes a host than it usually is: 0.5 is half as slow again.
const slowness = ([name, value]) => (name.endsWith("_per_s") ? 1 / (1 + value) - 1 : value);

// The measure by which a host is slowest; undefined without a canary.
function worst(host) {
  const measures = Object.entries(host.canaries).filter(([, value]) => !gone(value));
  return measures.sort((a, b) => slowness(b) - slowness(a))[0];
}

// How slow the slowest host of an attempt was; null where none has a canary.
export function slowest(hosts) {
  const known = hosts.map(worst).filter(Boolean).map(slowness);
  return known.length ? Math.max(...known) : null;
}

// The hosts of an attempt, the slowest first; of many the rest is a number.
export function hostsInWords(hosts) {
  const ordered = [...hosts].sort((a, b) => (slowest([b]) ?? -1) - (slowest([a]) ?? -1));
  const more = ordered.length > MOST ? [`${ordered.length - MOST} more`] : [];
  return [...ordered.slice(0, MOST).map(inWords), ...more].join("; ");
}

function inWords(host) {
  const found = worst(host);
  if (!found) return `${host.host}: no canary (${host.reason ?? "not known why"})`;
  const [name, value] = found;
  const age = gone(host.age_s) ? "" : `, ${seconds(host.age_s)} before`;
  return `${host.host}: ${canary(name)} ${signedPercent(value)}${age}`;
}
