// SPDX-License-Identifier: MIT
// node test/run.mjs - the tests of the page's pure parts: bundled by esbuild, run by node's own
// test runner. Prints a line "ok ..." or "FAILED ..." for each.

import { build } from 'esbuild';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = await mkdtemp(join(tmpdir(), 'tocsin-page-test-'));
const names = (await readdir(here)).filter((name) => name.endsWith('.test.ts'));
await build({
  entryPoints: names.map((name) => join(here, name)),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node18',
  logLevel: 'warning',
});

let failed = 0;
let passed = 0;
const stream = run({ files: names.map((name) => join(out, name.replace(/\.ts$/, '.mjs'))), concurrency: true });
// A file is reported as a test of its own, too: it counts only when it fails.
const isFile = (data) => data.name.endsWith('.mjs');
stream.on('test:pass', (data) => {
  if (isFile(data)) return;
  passed++;
  console.log(`ok ${data.name}`);
});
stream.on('test:fail', (data) => {
  failed++;
  console.log(`${data.details.error?.cause?.stack ?? data.details.error?.message ?? ''}\nFAILED ${data.name}`);
});
stream.resume();
await new Promise((done) => stream.on('end', done));
await rm(out, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
