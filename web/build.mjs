// SPDX-License-Identifier: MIT
// node build.mjs [OUT] - the page as four files in OUT (dist/ without one): index.html, app.js,
// app.css, favicon.svg. What the C build puts into the binary; the mock server serves the same.

import { build } from 'esbuild';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

export async function buildPage(out, options = {}) {
  await mkdir(out, { recursive: true });
  const shared = { bundle: true, minify: true, legalComments: 'inline', logLevel: 'warning', ...options };
  await build({
    ...shared,
    entryPoints: [join(here, 'src/main.ts')],
    outfile: join(out, 'app.js'),
    format: 'iife',
    target: 'es2020',
    mangleProps: /^_[a-z]/, // stompjs's own: nobody else asks for them
    charset: 'utf8',
    banner: {
      js: '/*! Tocsin, MIT. Contains @stomp/stompjs, by its contributors, under the Apache License 2.0. */',
    },
  });
  await build({ ...shared, entryPoints: [join(here, 'src/app.css')], outfile: join(out, 'app.css') });
  for (const name of ['index.html', 'favicon.svg']) await copyFile(join(here, name), join(out, name));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await buildPage(resolve(process.argv[2] ?? join(here, 'dist')));
}
