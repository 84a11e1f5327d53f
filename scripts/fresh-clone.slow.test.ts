/** The commands that the docs print, in a clone that was just installed. */
import { type ExecFileException, execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from './prepare.mjs'
import { ROOT, readText, repositoryFiles } from './repository-files.js'

const run = promisify(execFile)

/** Every line of a shell block, with those that continue it, of every page. */
const lines = repositoryFiles
  .filter((path) => path.endsWith('.md') && !path.startsWith('docs/adr/'))
  .flatMap((path) => [...readText(path).matchAll(/^```sh[^\n]*\n([\s\S]*?)^```$/gm)])
  .flatMap(([, block = '']) => block.replaceAll(/\\\n\s*/g, '').split('\n'))

/** `countersign audit verify` of `npx countersign audit verify log.ndjson --jwks …`, each once, with all of its options. */
const printed = new Map<string, Set<string>>()
for (const [, words = '', rest = ''] of lines.flatMap((line) => [
  ...line.matchAll(/\bnpx ([a-z][\w-]*(?: [a-z][a-z-]*(?![\w./=]))*)([^|;&]*)/g),
])) {
  const options = rest.match(/(?<!\S)--[a-z][a-z-]*/g) ?? []
  printed.set(words, new Set([...(printed.get(words) ?? []), ...options]))
}

const clone = mkdtempSync(join(tmpdir(), 'countersign-clone-'))
const asked: string[] = []
/** Plays a public registry in which somebody else has taken our names. */
const registry = createServer(({ url = '', headers: { host } }, response) => {
  asked.push(url)
  const name = url.slice(1)
  const version = { name, version: '9.9.9', bin: 'run.js', dist: { tarball: `http://${host}/${name}.tgz` } }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ name, 'dist-tags': { latest: '9.9.9' }, versions: { '9.9.9': version } }))
})

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function npx(words: string): Promise<Ended> {
  const { port } = registry.address() as AddressInfo
  // `npx vitest` puts the commands of this checkout there.
  const PATH = process.env.PATH?.split(delimiter).filter((folder) => !folder.includes('node_modules'))
  const env = {
    PATH: PATH?.join(delimiter),
    HOME: clone,
    npm_config_registry: `http://127.0.0.1:${port}`,
    npm_config_update_notifier: 'false',
  }
  return run('npx', words.split(' '), { cwd: clone, env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: ExecFileException & { stdout: string; stderr: string }) => ({
      code: Number(code),
      stdout,
      stderr,
    }),
  )
}

beforeAll(async () => {
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  for (const path of repositoryFiles) {
    mkdirSync(dirname(join(clone, path)), { recursive: true })
    cpSync(join(ROOT, path), join(clone, path))
  }
})
afterAll(() => {
  registry.close()
  rmSync(clone, { recursive: true, force: true })
})

describe('in a clone that nothing was installed in', () => {
  it.each(['countersign', 'countersign-mcp'])('npx %s installs nothing from a registry', async (name) => {
    const { code, stderr } = await npx(`${name} --version`)
    expect(code).not.toBe(0)
    // npm knows a workspace of this name, and looks for no other package.
    expect(stderr).toContain('not found')
    expect(asked.splice(0).filter((url) => url.endsWith('.tgz'))).toEqual([])
  })
})

describe('in a clone that npm start has installed and not built', () => {
  beforeAll(async () => {
    const [npm, ...args] = COMMANDS.server
    await run(npm, [...args, '--prefer-offline'], { cwd: clone })
  }, 300_000)

  it('are at most 300 MB of packages', async () => {
    const { stdout } = await run('du', ['-sm', 'node_modules'], { cwd: clone })
    expect(Number.parseInt(stdout, 10)).toBeLessThanOrEqual(300)
  })

  it.each(['countersign', 'countersign-mcp'])('npx %s says what to do, and asks no registry', async (name) => {
    expect(await npx(`${name} --version`)).toEqual({
      code: 1,
      stdout: '',
      stderr: `${name} is not built yet. Run "npm start" or "npm run build" in ${clone}/ first.\n`,
    })
    expect(asked).toEqual([])
  })
})

describe('in a clone that npm start has installed and built', () => {
  beforeAll(async () => {
    await run(process.execPath, ['scripts/build.mjs'], { cwd: clone })
  }, 300_000)

  it('the pages print commands of the checkout by npx alone', () => {
    expect(printed.size).toBeGreaterThan(10)
    expect([...printed.values()].filter((options) => options.size > 0).length).toBeGreaterThan(5)
    expect(lines.filter((line) => /^(\w+=\S+ )*countersign /.test(line))).toEqual([])
  })

  it.each([...printed])('npx %s is a command, and asks no registry', async (words, options) => {
    const { code, stdout, stderr } = await npx(`${words} --help`)
    expect({ code, stderr, asked }).toEqual({ code: 0, stderr: '', asked: [] })
    // The help of an unknown command is that of the one above it.
    expect(stdout.split(/Usage:\s+(?:\$ )?/)[1]).toMatch(new RegExp(`^${words}(?= |\\n)`))
    expect([...options].filter((option) => !stdout.includes(option))).toEqual([])
  })
})
