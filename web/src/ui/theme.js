// Dark or light: the system's choice until the reader makes one.
import { el } from "./dom.js";

const listeners = [];

export function onTheme(listener) {
  listeners.push(listener);
}

export function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function themeButton() {
  const button = el("button", { type: "button", class: "quiet", id: "theme", on: { click: () => choose(!dark()) } });
  const label = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", dark() ? "Switch to the light theme" : "Switch to the dark theme");
  };

  function choose(toDark) {
    document.documentElement.dataset.theme = toDark ? "dark" : "light";
    label();
    listeners.forEach((listener) => listener());
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    label();
    listeners.forEach((listener) => listener());
  });
  label();
  return button;
}
