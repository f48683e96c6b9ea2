// Builds the workbench into the Python package; the server sends these files as they are.
import { defineConfig } from "vite";

export default defineConfig({
  // Relative, so that the page works below any path and behind any proxy.
  base: "./",
  build: {
    outDir: "../src/toolwright/serve/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      // A file of its own with its own names: the tests read Markdown with what is shipped.
      input: { index: "index.html", markdown: "src/markdown.ts" },
      preserveEntrySignatures: "allow-extension",
      // Fixed names: a rebuild changes contents, not the list of committed files.
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765" } },
});
