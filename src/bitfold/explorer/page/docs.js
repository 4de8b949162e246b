// The API reference, rendered from /openapi.json.

import { at, h } from "./dom.js";

/** @typedef {any} Schema a part of the OpenAPI description */

/** @param {string} reference */
const nameOf = (reference) => reference.split("/").at(-1) ?? "";

/** @param {Schema} schema @returns {string} */
function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.type === "array") return `[${typeOf(schema.items)}]`;
  const low = schema.minimum ?? "";
  const high = schema.maximum ?? "";
  return `${schema.type ?? "any"}${low !== "" || high !== "" ? ` ${low}…${high}` : ""}`;
}

/** @param {Schema} route */
function parameters(route) {
  if (!route.parameters?.length) return null;
  return h("table", {}, h("tbody", {}, route.parameters.map((/** @type {Schema} */ { name, required, schema, description }) => h("tr", {},
    h("td", {}, h("code", {}, name)), h("td", {}, typeOf(schema)),
    h("td", {}, required ? "required" : `default ${JSON.stringify(schema.default)}`), h("td", {}, description ?? "")))));
}

/** @param {Schema} schema @param {Record<string, Schema>} schemas @returns {string} */
function shape(schema, schemas, depth = 0) {
  const known = schema?.$ref ? schemas[nameOf(schema.$ref)] : schema;
  if (!known?.properties || depth > 2) return typeOf(schema);
  const indent = "  ".repeat(depth + 1);
  const lines = Object.entries(known.properties).map(([name, inner]) => {
    const item = inner.type === "array" && inner.items.$ref ? `[${shape(inner.items, schemas, depth + 1)}]` : inner.$ref ? shape(inner, schemas, depth + 1) : typeOf(inner);
    return `${indent}${name}: ${item}${inner.description ? `   — ${inner.description}` : ""}`;
  });
  return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
}

/** @param {string} path @param {string} method @param {Schema} route @param {Record<string, Schema>} schemas */
function routeOf(path, method, route, schemas) {
  const answer = route.responses[200]?.content?.["application/json"]?.schema;
  return h("details", { class: "card route" },
    h("summary", {}, h("b", {}, method.toUpperCase()), h("code", {}, path), h("span", {}, route.description ?? route.summary)),
    h("div", { class: "body" }, parameters(route), answer?.$ref ? h("pre", {}, shape(answer, schemas)) : null));
}

async function begin() {
  try {
    const response = await fetch("/openapi.json");
    const described = await response.json();
    if (!response.ok) throw new Error(described.error);
    /** @type {Map<string, HTMLElement[]>} */
    const groups = new Map();
    for (const [path, methods] of Object.entries(described.paths)) {
      for (const [method, route] of Object.entries(/** @type {Record<string, Schema>} */ (methods))) {
        const group = route.tags?.[0] ?? "other";
        groups.set(group, [...(groups.get(group) ?? []), routeOf(path, method, route, described.components.schemas)]);
      }
    }
    const curl = `curl -H "Authorization: Bearer TOKEN" "${location.origin}/api/search?query=item:0&k=10"`;
    at("docs").replaceChildren(h("p", {}, described.info.description), h("div", { class: "route" }, h("pre", {}, curl)),
      ...[...groups].flatMap(([name, routes]) => [h("h2", {}, name), ...routes]));
  } catch (error) {
    at("docs").replaceChildren(h("p", { class: "message" }, `The description could not be read: ${error instanceof Error ? error.message : error}`));
  }
}

begin();
