// Runs before the first paint, so that a dark page does not flash white.
"use strict";
(() => {
  const kept = localStorage.getItem("bitfold-theme");
  const dark = kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
