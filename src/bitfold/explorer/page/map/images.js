// Images of the few items in view, drawn instead of points.

import { imageAddress } from "../api.js";

const MAX_IMAGES = 140; // with fewer items in view they are drawn as images
const MAX_KEPT = 600;

export class ImageCache {
  /** @param {() => void} onLoad */
  constructor(onLoad) {
    this.onLoad = onLoad;
    /** @type {Map<number, HTMLImageElement>} */
    this.kept = new Map();
    this.room = new Uint32Array(4 * MAX_IMAGES);
  }

  /**
   * Return the images to draw now: none if there are too many items in view.
   * @param {import("./layers.js").PointLayer} layer
   * @param {(point: number) => string} colorAt
   * @param {Uint8Array} levels
   */
  inView(layer, colorAt, levels) {
    const { camera } = layer;
    if (layer.inView > this.room.length) return [];
    const { grid } = layer;
    const box = camera.box(20);
    if (grid.count(box) > this.room.length) return [];
    const points = this.room.subarray(0, grid.gather(box, this.room));
    const near = [...points].filter((i) => levels[i] && camera.shows(grid.positions[2 * i], grid.positions[2 * i + 1], -20));
    if (near.length > MAX_IMAGES) return [];
    return near.map((point) => ({ point, image: this.imageOf(point), color: colorAt(point) }))
      .filter(({ image }) => image.complete && image.naturalWidth);
  }

  /** @param {number} point */
  imageOf(point) {
    let image = this.kept.get(point);
    if (!image) {
      image = new Image();
      image.src = imageAddress(`/api/items/${point}/image`);
      image.addEventListener("load", this.onLoad);
      this.kept.set(point, image);
      if (this.kept.size > MAX_KEPT) this.kept.delete([...this.kept.keys()][0]);
    }
    return image;
  }
}
