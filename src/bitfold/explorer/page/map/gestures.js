// Mouse, touch and keyboard on the map.

/** @typedef {[number, number]} Place a pixel of the canvas */
/** @typedef {"pan" | "lasso" | "rectangle"} Tool */

/**
 * @typedef {object} Target
 * @property {(dx: number, dy: number) => void} pan
 * @property {(factor: number, px?: number, py?: number) => void} zoom
 * @property {() => void} fit
 * @property {(px: number, py: number) => void} tap
 * @property {(px: number, py: number) => void} hover
 * @property {() => void} leave
 * @property {(dx: number, dy: number) => void} step
 * @property {() => void} enter
 * @property {() => void} cancel
 * @property {(shape: Place[], isDone: boolean) => void} outline
 */

const CLICK = 4; // pixels that a click may move
const ARROWS = /** @type {Record<string, Place>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });

export class Gestures {
  /** @param {HTMLCanvasElement} canvas @param {Target} target */
  constructor(canvas, target) {
    this.canvas = canvas;
    this.target = target;
    /** @type {Tool} */
    this.tool = "pan";
    /** @type {Map<number, Place>} */
    this.pointers = new Map();
    /** @type {Place[]} */
    this.shape = [];
    /** @type {Place} */
    this.start = [0, 0];
    this.hasMoved = false;
    this.listen();
  }

  listen() {
    const { canvas, target } = this;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      target.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0018)), ...placeOf(event));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    canvas.addEventListener("pointermove", (event) => this.onMove(event, placeOf(event)));
    canvas.addEventListener("pointerup", (event) => this.onUp(event));
    canvas.addEventListener("pointercancel", (event) => this.onUp(event));
    canvas.addEventListener("pointerleave", () => target.leave());
    canvas.addEventListener("blur", () => target.leave());
    canvas.addEventListener("dblclick", () => target.fit());
    canvas.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** @param {PointerEvent} event */
  onDown(event) {
    if (event.button > 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const place = placeOf(event);
    this.pointers.set(event.pointerId, place);
    this.hasMoved = this.pointers.size > 1;
    this.start = place;
    const isOutline = this.pointers.size === 1 && (this.tool !== "pan" || event.shiftKey);
    this.shape = isOutline ? [place] : [];
    this.isRectangle = this.tool !== "lasso";
  }

  /** @param {PointerEvent} event @param {Place} now */
  onMove(event, now) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.target.hover(...now);
      return;
    }
    this.noticeMove(now);
    if (this.pointers.size > 1) this.pinch(event.pointerId, before, now);
    else if (!this.hasMoved) return;
    else if (this.shape.length) this.outlineTo(now, false);
    else {
      this.canvas.classList.add("dragged");
      this.target.pan(now[0] - before[0], now[1] - before[1]);
    }
    this.pointers.set(event.pointerId, now);
  }

  /** @param {Place} now */
  noticeMove(now) {
    if (Math.hypot(now[0] - this.start[0], now[1] - this.start[1]) > CLICK) this.hasMoved = true;
  }

  /** @param {number} id @param {Place} before @param {Place} now */
  pinch(id, before, now) {
    this.shape = [];
    const other = [...this.pointers].find(([each]) => each !== id)?.[1] ?? before;
    const apart = (/** @type {Place} */ place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
    this.target.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    this.target.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }

  /** @param {Place} now @param {boolean} isDone */
  outlineTo(now, isDone) {
    if (this.isRectangle) {
      const [[x0, y0], [x1, y1]] = [this.start, now];
      this.shape = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
    } else {
      const [x, y] = this.shape[this.shape.length - 1];
      // At most 1,000 vertices are sent, and closer ones are not visible.
      if (Math.hypot(now[0] - x, now[1] - y) > 3 && this.shape.length < 900) this.shape.push(now);
    }
    this.target.outline(this.shape, isDone);
  }

  /** @param {PointerEvent} event */
  onUp(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    if (!this.pointers.size) this.canvas.classList.remove("dragged");
    if (event.type !== "pointerup") return;
    // A busy page may get no movement between the two ends of a quick drag.
    this.noticeMove(placeOf(event));
    if (!this.hasMoved) this.target.tap(...placeOf(event));
    else if (this.shape.length) this.outlineTo(placeOf(event), true);
    this.shape = [];
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { target } = this;
    const arrow = ARROWS[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (arrow && event.shiftKey) target.pan(-60 * arrow[0], -60 * arrow[1]);
    else if (arrow) target.step(...arrow);
    else if (event.key === "+" || event.key === "=") target.zoom(1.3);
    else if (event.key === "-") target.zoom(1 / 1.3);
    else if (event.key === "0") target.fit();
    else if (event.key === "Escape") target.cancel();
    else if (event.key === "Enter" || event.key === " ") target.enter();
    else return;
    event.preventDefault();
  }
}

/** @param {MouseEvent} event @returns {Place} */
const placeOf = (event) => [event.offsetX, event.offsetY];
