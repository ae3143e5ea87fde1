import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// One file with everything inside: the template that `ropewalk report` fills in.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: { target: "es2022", modulePreload: false, reportCompressedSize: false, chunkSizeWarningLimit: 4000 },
});
