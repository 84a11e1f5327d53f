import { defineConfig } from 'vitest/config'

const project = (name: string, include: string[], timeout = 20_000) => ({
  extends: true as const,
  test: { name, include, testTimeout: timeout, hookTimeout: timeout },
})

export default defineConfig({
  test: {
    maxWorkers: 2,
    reporters: ['default'],
    projects: [
      project('contract', ['packages/contract/{src,test}/**/*.test.ts']),
      project('engine', ['packages/engine/{src,test}/**/*.test.ts'], 120_000),
      project('permit', ['packages/permit/{src,test}/**/*.test.ts']),
      project('audit-log', ['packages/audit-log/{src,test}/**/*.test.ts']),
      project('client', ['packages/client/{src,test}/**/*.test.ts']),
      project('scripts', ['scripts/**/*.test.ts'], 60_000),
      project('server', ['server/{src,test}/**/*.test.ts'], 60_000),
    ],
  },
})
