import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { lockHash, workspaces } from './freshness.mjs'
import { COMMANDS } from './prepare.mjs'

const PREPARE = fileURLToPath(new URL('prepare.mjs', import.meta.url))

/** Stand-ins that leave the traces of a real installation and a real build, and one line each in `log`. */
const INSTALL = `
  const fs = require('node:fs')
  fs.appendFileSync('log', 'install\\n')
  fs.rmSync('node_modules', { recursive: true, force: true })
  fs.mkdirSync('node_modules')
`
const BUILD = `
  const fs = require('node:fs')
  fs.appendFileSync('log', 'build\\n')
  fs.mkdirSync('packages/one/dist', { recursive: true })
  fs.writeFileSync('packages/one/dist/index.js', fs.readFileSync('packages/one/src/index.ts'))
`
const FAIL = `console.log('first line'); console.error('the reason'); process.exit(3)`

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'prepare-'))
  write('package.json', JSON.stringify({ workspaces: ['packages/*', 'server'] }))
  write('package-lock.json', lockOf({}))
  write('packages/one/package.json', '{}')
  write('packages/one/src/index.ts', 'export const one = 1\n')
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

function lockOf(packages: Record<string, object>): string {
  return JSON.stringify({ packages: { '': {}, ...packages } })
}

/** What was run since the last call. */
function ran(): string[] {
  const log = join(root, 'log')
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []
  rmSync(log, { force: true })
  return lines
}

function startPreparing({ install = INSTALL, build = BUILD, goal = 'tests', nodeArgs = [] as string[] } = {}) {
  const node = (script: string) => ['node', '-e', script]
  const rest = `require('node:fs').appendFileSync('log', 'install the rest\\n')`
  const withTypes = build.replace("'build\\n'", "'build with types\\n'")
  const commands = {
    ...{
      server: node(install.replace("'install\\n'", "'install the server\\n'")),
      everything: node(install),
      rest: node(rest),
    },
    ...{ programs: node(build), packages: node(withTypes) },
  }
  const script = `import(${JSON.stringify(PREPARE)}).then(({ prepare }) =>
    prepare(${JSON.stringify(root)}, ${JSON.stringify(goal)}, ${JSON.stringify(commands)})).then(() => console.log('ready'))`
  return spawn(process.execPath, [...nodeArgs, '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })
}

async function prepare(options: Parameters<typeof startPreparing>[0] = {}) {
  const child = startPreparing(options)
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (text) => {
    stdout += text
  })
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

describe('a checkout that was never prepared', () => {
  it('is installed and built, said on stderr in one line each', async () => {
    const { code, stdout, stderr } = await prepare()
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'ready\n' })
    expect(stderr).toMatch(/^Installing packages … \d+\.\d s\nBuilding … \d+\.\d s\n$/)
    expect(ran()).toEqual(['install', 'build'])
  })

  it('is not installed again when npm already did so by hand', async () => {
    const packages = { 'node_modules/a': { version: '1.0.0' }, 'node_modules/mac-only': { optional: true } }
    write('package-lock.json', lockOf(packages))
    write('node_modules/.package-lock.json', lockOf({ 'node_modules/a': { version: '1.0.0' } }))
    await prepare()
    expect(ran()).toEqual(['build'])
  })

  it.each([
    ['another version', { 'node_modules/a': { version: '1.0.1' } }],
    ['a package less', {}],
    ['a package more', { 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '1.0.0' } }],
  ])('is installed again when node_modules holds %s', async (_, installed) => {
    write('package-lock.json', lockOf({ 'node_modules/a': { version: '1.0.0' } }))
    write('node_modules/.package-lock.json', lockOf(installed))
    await prepare()
    expect(ran()).toEqual(['install', 'build'])
  })
})

describe('a checkout that was installed without the tools of its build', () => {
  const locked = { 'node_modules/a': { version: '1.0.0' }, 'node_modules/turbo': { version: '2.0.0', dev: true } }
  const install = (packages: object) => `${INSTALL}
    fs.writeFileSync('node_modules/.package-lock.json', ${JSON.stringify(JSON.stringify({ packages }))})`

  it.each<[string, () => void]>([
    ['before the first start', () => {}],
    [
      'by a former release, which took that for whole',
      () => write('node_modules/.countersign/installed', lockHash(root)),
    ],
  ])('%s, is installed again, once', async (_, leave) => {
    write('package-lock.json', lockOf(locked))
    write('node_modules/.package-lock.json', lockOf({ 'node_modules/a': { version: '1.0.0' } }))
    leave()
    await prepare({ install: install(locked) })
    expect(ran()).toEqual(['install', 'build'])
    await prepare({ install: install(locked) })
    expect(ran()).toEqual([])
  })

  it('after it was prepared, is installed again', async () => {
    write('package-lock.json', lockOf(locked))
    await prepare({ install: install(locked) })
    ran()
    write('node_modules/.package-lock.json', lockOf({ 'node_modules/a': { version: '1.0.0' } }))
    await prepare({ install: install(locked) })
    expect(ran()).toEqual(['install', 'build'])
  })
})

describe('what npm is called with', () => {
  it.each([
    ['NODE_ENV=production', { NODE_ENV: 'production' }],
    ['omit=dev', { npm_config_omit: 'dev' }],
  ])('installs what the build needs in spite of %s', (_, env) => {
    const [program, ...args] = COMMANDS.everything
    const tool = { name: 'tool', version: '1.0.0' }
    write('tool/package.json', JSON.stringify(tool))
    const manifest = { name: 'a', version: '1.0.0', devDependencies: { tool: 'file:tool' } }
    write('package.json', JSON.stringify(manifest))
    const packages = { '': manifest, tool, 'node_modules/tool': { resolved: 'tool', link: true } }
    write('package-lock.json', JSON.stringify({ name: 'a', version: '1.0.0', lockfileVersion: 3, packages }))
    execFileSync(program, args, { cwd: root, env: { ...process.env, ...env }, stdio: 'pipe' })
    expect(existsSync(join(root, 'node_modules/tool/package.json'))).toBe(true)
  })
})

describe('a goal', () => {
  it.each([
    [['server'], ['install the server', 'build']],
    [['server', 'server'], []],
    [['server', 'tests'], ['install the rest']],
    [['server', 'tests', 'server'], []],
    [['tools'], ['install']],
    [['tools', 'tests'], ['build']],
    [['tests', 'server'], []],
    [['tests', 'packages'], ['build with types']],
    [['packages', 'tests'], []],
  ])('after %j only what is missing is done: %j', async (goals, expected) => {
    for (const goal of goals.slice(0, -1)) await prepare({ goal })
    ran()
    await prepare({ goal: goals.at(-1) })
    expect(ran()).toEqual(expected)
  })

  it('is one that there is', async () => {
    const { stderr } = await new Promise<{ stderr: string }>((resolve) => {
      execFile(process.execPath, [PREPARE, 'test'], (_, _stdout, stderr) => resolve({ stderr }))
    })
    expect(stderr).toContain('There is no goal test, only server, tools, tests, packages')
  })

  it('of the server names workspaces that there are', () => {
    const named = COMMANDS.server.flatMap((word) => /^--workspace=(.*)/.exec(word)?.[1] ?? [])
    expect(named).toContain('server')
    expect(workspaces(fileURLToPath(new URL('..', import.meta.url)))).toEqual(expect.arrayContaining(named))
  })
})

describe('a folder with a lock file of its own', () => {
  it('is installed where it is not, and not again', async () => {
    write('own/package-lock.json', lockOf({ 'node_modules/a': { version: '1.0.0' } }))
    const own = join(root, 'own')
    const install = ['node', '-e', `require('node:fs').appendFileSync('log', 'install\\n')`]
    const script = `import(${JSON.stringify(PREPARE)}).then(({ prepareFolder }) =>
      prepareFolder(${JSON.stringify(own)}, ${JSON.stringify(install)}))`
    for (let times = 0; times < 2; times += 1) execFileSync(process.execPath, ['-e', script], { stdio: 'pipe' })
    expect(readFileSync(join(own, 'log'), 'utf8')).toBe('install\n')
  })
})

describe('a prepared checkout', () => {
  beforeEach(async () => {
    await prepare()
    ran()
  })

  it('needs nothing and says nothing', async () => {
    expect(await prepare()).toEqual({ code: 0, stdout: 'ready\n', stderr: '' })
    expect(ran()).toEqual([])
  })

  it.each<[string, string[], () => void]>([
    ['a source changed', ['build'], () => write('packages/one/src/index.ts', 'export const one = 2\n')],
    ['a source came', ['build'], () => write('packages/one/src/more/two.ts', 'export const two = 2\n')],
    ['a source went', ['build'], () => rmSync(join(root, 'packages/one/src/index.ts'))],
    ['a workspace came', ['build'], () => write('server/package.json', '{}')],
    ['the output was deleted', ['build'], () => rmSync(join(root, 'packages/one/dist'), { recursive: true })],
    ['the output was changed', ['build'], () => appendFileSync(join(root, 'packages/one/dist/index.js'), '//')],
    ['the lock file changed', ['install', 'build'], () => write('package-lock.json', lockOf({ 'node_modules/a': {} }))],
    ['node_modules was deleted', ['install', 'build'], () => rmSync(join(root, 'node_modules'), { recursive: true })],
    ['a test changed', [], () => write('packages/one/src/index.test.ts', 'x')],
    ['a source was written again as it was', [], () => write('packages/one/src/index.ts', 'export const one = 1\n')],
  ])('runs what is needed when %s', async (_, expected, change) => {
    change()
    await prepare({ build: BUILD.replace("fs.readFileSync('packages/one/src/index.ts')", "''") })
    expect(ran()).toEqual(expected)
    await prepare()
    expect(ran()).toEqual([])
  })
})

describe('several at once', () => {
  it('prepare the checkout once and are all ready', async () => {
    const results = await Promise.all([prepare(), prepare(), prepare()])
    expect(results.map(({ code, stdout }) => [code, stdout])).toEqual(Array(3).fill([0, 'ready\n']))
    expect(ran()).toEqual(['install', 'build'])
    expect(existsSync(join(root, '.prepare.lock'))).toBe(false)
  })

  it('take over the lock of a process that died', async () => {
    const dead = spawn(process.execPath, ['-e', ''])
    await once(dead, 'close')
    write('.prepare.lock', `${dead.pid}`)
    const results = await Promise.all([prepare(), prepare()])
    expect(results.map(({ code }) => code)).toEqual([0, 0])
    expect(ran()).toEqual(['install', 'build'])
  })
})

describe('a failing command', () => {
  it('shows all it printed, exits 1 and is tried again next time', async () => {
    const { code, stdout, stderr } = await prepare({ build: FAIL })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('first line')
    expect(stderr).toContain('the reason')
    expect(stderr).toContain('Building failed')
    expect(ran()).toEqual(['install'])
    expect(existsSync(join(root, '.prepare.lock'))).toBe(false)
    await prepare()
    expect(ran()).toEqual(['build'])
  })
})

describe('a signal while a command runs', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s ends the command, frees the lock and exits %i', async (signal, expected) => {
    const child = startPreparing({
      install: `${INSTALL}; fs.writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000)`,
    })
    const pid = await vi.waitFor(() => Number(readFileSync(join(root, 'pid'), 'utf8') || expect.fail()), 10_000)
    child.kill(signal)
    expect(await once(child, 'close')).toEqual([expected, null])
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    expect(existsSync(join(root, '.prepare.lock'))).toBe(false)
  })
})

describe('an older Node', () => {
  it.each([
    ['18.20.4', 1],
    ['20.18.3', 1],
    ['20.19.0', 0],
    ['22.0.0', 0],
  ])('%s exits %i', async (version, expected) => {
    const versions = `{ ...process.versions, node: '${version}' }`
    const pretend = `Object.defineProperty(process, 'versions', { value: ${versions} })`
    const { code, stderr } = await prepare({ nodeArgs: ['--import', `data:text/javascript,${pretend}`] })
    expect(code).toBe(expected)
    if (expected === 1) expect(stderr).toBe(`Countersign needs Node 20.19 or newer; this is Node ${version}.\n`)
    expect(ran()).toEqual(expected === 1 ? [] : ['install', 'build'])
  })
})
