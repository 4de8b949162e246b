// One color per class, distinguishable on light and dark backgrounds.

const TEN = ["#4269d0", "#e8a20c", "#ff5a48", "#12a0a6", "#6bb53f",
  "#ff7eb0", "#a463f2", "#6fb6f0", "#a0704f", "#8a8f98"];

export function colorOf(label, nLabels) {
  if (label < 0) return getComputedStyle(document.documentElement).getPropertyValue("--point").trim();
  if (nLabels <= TEN.length) return TEN[label];
  // Steps of the golden angle give consecutive classes very different hues.
  const hue = (label * 137.508) % 360;
  return `hsl(${hue.toFixed(0)} ${60 + 20 * (label % 2)}% ${50 + 8 * (label % 3 - 1)}%)`;
}
