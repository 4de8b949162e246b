// Draws points with WebGL2: one vertex per point, colored through a palette of 256 entries.

/** @typedef {import("./camera.js").Camera} Camera */

const VERTEX = `#version 300 es
in vec2 position;
in uint shade;
in uint level;
uniform vec2 center, scale;
uniform float size, alpha;
uniform sampler2D palette;
out vec4 color;
void main() {
  vec4 tint = texelFetch(palette, ivec2(int(shade), 0), 0);
  float strength = level == 0u ? 0.07 : level == 2u ? max(alpha, 0.9) : alpha;
  gl_Position = vec4((position - center) * scale, 0.0, 1.0);
  gl_PointSize = level == 2u ? size * 1.35 + 0.6 : size;
  color = vec4(tint.rgb, 1.0) * (strength * tint.a);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 color;
uniform float soft;
out vec4 result;
void main() {
  float away = 2.0 * length(gl_PointCoord - 0.5);
  result = soft > 0.0 ? color * (1.0 - smoothstep(1.0 - soft, 1.0, away)) : color;
}`;

/** How points look in one frame. @typedef {{ size: number, alpha: number, ratio: number }} PointStyle */

export class GlPoints {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Float32Array} positions
   * @param {() => void} onRestored called when a lost context is back
   */
  constructor(canvas, positions, onRestored) {
    const gl = canvas.getContext("webgl2", { antialias: false, depth: false });
    if (!gl) throw new Error("This browser does not offer WebGL2.");
    this.gl = gl;
    this.isShown = false;
    this.positions = positions;
    this.n = positions.length / 2;
    /** @type {Uint8Array} */
    this.shades = new Uint8Array(this.n);
    /** @type {Uint8Array} */
    this.levels = new Uint8Array(this.n).fill(1);
    /** @type {Uint8Array} */
    this.palette = new Uint8Array(1024);
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { this.prepare(); onRestored(); });
    this.prepare();
  }

  prepare() {
    const { gl } = this;
    this.program = link(gl);
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.bindVertexArray(gl.createVertexArray());
    this.attach("position", this.positions, 2, gl.FLOAT);
    this.shadeBuffer = this.attach("shade", this.shades, 1, gl.UNSIGNED_BYTE);
    this.levelBuffer = this.attach("level", this.levels, 1, gl.UNSIGNED_BYTE);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    this.setPalette(this.palette);
  }

  /** @param {string} name @param {Float32Array | Uint8Array} data @param {number} size @param {number} type */
  attach(name, data, size, type) {
    const { gl } = this;
    const place = gl.getAttribLocation(/** @type {WebGLProgram} */ (this.program), name);
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(place);
    if (type === gl.FLOAT) gl.vertexAttribPointer(place, size, type, false, 0, 0);
    else gl.vertexAttribIPointer(place, size, type, 0, 0);
    return buffer;
  }

  /** Set the entry of the palette of each point. @param {Uint8Array} shades */
  setShades(shades) {
    this.shades = shades;
    this.send(this.shadeBuffer, shades);
  }

  /** Set 0 (faint), 1 (plain) or 2 (strong) for each point. @param {Uint8Array} levels */
  setLevels(levels) {
    this.levels = levels;
    this.send(this.levelBuffer, levels);
  }

  /** @param {WebGLBuffer | null | undefined} buffer @param {Uint8Array} data */
  send(buffer, data) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer ?? null);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.DYNAMIC_DRAW);
  }

  /** @param {Uint8Array} palette 256 colors, red, green, blue, alpha */
  setPalette(palette) {
    const { gl } = this;
    this.palette = palette;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, palette);
  }

  clear() {
    if (!this.isShown) return;
    this.gl.clearColor(0, 0, 0, 0);
    this.gl.clear(this.gl.COLOR_BUFFER_BIT);
    this.isShown = false;
  }

  /** Clear the canvas and set the view. @param {Camera} camera @param {PointStyle} style */
  begin(camera, { size, alpha, ratio }) {
    const { gl } = this;
    const program = /** @type {WebGLProgram} */ (this.program);
    const at = (/** @type {string} */ name) => gl.getUniformLocation(program, name);
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.isShown = true;
    gl.uniform2f(at("center"), camera.x, camera.y);
    gl.uniform2f(at("scale"), (2 * camera.scale) / camera.width, (-2 * camera.scale) / camera.height);
    gl.uniform1f(at("size"), size * ratio);
    gl.uniform1f(at("alpha"), alpha);
    // Round corners of a few pixels are invisible and cost time.
    gl.uniform1f(at("soft"), size > 2.6 ? Math.min(1, 2.4 / (size * ratio)) : 0);
  }

  /** Wait until everything is drawn. */
  finish() {
    // Reading a pixel waits; gl.finish() alone returns early in some browsers.
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  /** Add points by number. @param {number} first @param {number} count */
  drawRange(first, count) {
    if (count > 0) this.gl.drawArrays(this.gl.POINTS, first, count);
  }

  /** Add listed points. @param {Uint32Array} indices */
  drawListed(indices) {
    const { gl } = this;
    if (!indices.length) return;
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STREAM_DRAW);
    gl.drawElements(gl.POINTS, indices.length, gl.UNSIGNED_INT, 0);
  }
}

/** @param {WebGL2RenderingContext} gl */
function link(gl) {
  const program = /** @type {WebGLProgram} */ (gl.createProgram());
  for (const [type, source] of /** @type {[number, string][]} */ ([[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(type));
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`The map could not be prepared: ${gl.getProgramInfoLog(program)}`);
  }
  return program;
}
