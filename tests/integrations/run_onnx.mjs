// Run a graph on vectors: node run_onnx.mjs PACKAGES MODEL VECTORS N_FEATURES CODES
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, model, vectors, nFeatures, codes] = process.argv.slice(2);
const ort = createRequire(`${packages}/`)("onnxruntime-node");

const bytes = readFileSync(vectors);
const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const rows = values.length / Number(nFeatures);
const session = await ort.InferenceSession.create(model);
const input = new ort.Tensor("float32", values, [rows, Number(nFeatures)]);
const output = await session.run({ vectors: input });
writeFileSync(codes, output.codes.data);
