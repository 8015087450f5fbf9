import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.ts"],
    // One process: a run is a second of work, and two cores are shared.
    maxWorkers: 1,
  },
});
