import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const SCRIPTS = fileURLToPath(new URL('.', import.meta.url))

/** Plays the server: refuses to start when told so, else says what it was given and waits for a signal. */
const SERVER = `
  const [, file, ...args] = process.argv
  if (args[1] === 'refuse') process.exit(78)
  process.on('SIGTERM', () => { console.log('closed'); process.exit(0) })
  process.on('SIGINT', () => { console.log('interrupted'); process.exit(0) })
  setInterval(() => {}, 1000)
  console.log(JSON.stringify({ file, args, terminal: process.stdin.isTTY ?? false, port: process.env.PORT }))
`

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'start-'))
  const { scripts } = JSON.parse(readFileSync(join(SCRIPTS, '..', 'package.json'), 'utf8'))
  write('package.json', JSON.stringify({ type: 'module', workspaces: ['server'], scripts }))
  write('package-lock.json', JSON.stringify({ packages: {} }))
  write('server/package.json', '{ "type": "module" }')
  write('node_modules/.package-lock.json', JSON.stringify({ packages: {} }))
  write('server/bin/countersign.js', SERVER)
  for (const name of readdirSync(SCRIPTS).filter((file) => file.endsWith('.mjs'))) {
    cpSync(join(SCRIPTS, name), join(root, 'scripts', name))
  }
  write('scripts/build.mjs', '// a build that leaves everything as it is')
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

function npmStart(...args: string[]): ChildProcess & { lines: () => Promise<string> } {
  const env = { ...process.env, PORT: '4321' }
  const child = spawn('npm', ['start', '--silent', '--', ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines = async () => {
    const [text] = await once(child.stdout, 'data')
    return String(text)
  }
  return Object.assign(child, { lines })
}

describe('npm start', () => {
  it('serves with the arguments and the environment it was given, and nothing else on stdout', async () => {
    const child = npmStart('--data', 'there')
    expect(JSON.parse(await child.lines())).toEqual({
      file: join(root, 'server/bin/countersign.js'),
      args: ['serve', '--data', 'there'],
      terminal: false,
      port: '4321',
    })
    child.kill('SIGTERM')
    await once(child, 'close')
  })

  it('exits with the code of the server', async () => {
    expect(await once(npmStart('refuse'), 'close')).toEqual([78, null])
  })

  it.each([
    ['SIGTERM', 'closed\n'],
    ['SIGINT', 'interrupted\n'],
  ] as const)('lets the server end by itself on %s', async (signal, expected) => {
    const child = npmStart()
    await child.lines()
    child.kill(signal)
    expect(await child.lines()).toBe(expected)
    expect(await once(child, 'close')).toEqual([0, null])
  })

  // Other systems have a `script` with other options.
  it.skipIf(process.platform !== 'linux')('gives the server the terminal it was started from', async () => {
    write('server/bin/countersign.js', 'console.log(process.stdout.isTTY ? "a terminal" : "no terminal")')
    const command = 'npm start --silent'
    const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd: root })
    const chunks: Buffer[] = await terminal.stdout.toArray()
    expect(Buffer.concat(chunks).toString()).toMatch(/^Building … .* s\r\na terminal\r\n$/)
  })
})
