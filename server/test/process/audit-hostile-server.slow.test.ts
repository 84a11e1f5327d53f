/** `countersign audit` against a server that means harm: to the terminal, to the memory, and to the file that an export replaces. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, MAIN, newDirectory, removeDirectories } from './shipped-server.js'
import { Terminal } from './terminal.js'

/** Clears a screen, and sets the title of a window: with the escape of 7 bits, and the one of 8 bits. */
const HARMFUL = '\u001b]0;owned\u0007\u001b[2J\u009b2J\u202e'
const OBEYED = /[^\P{Cc}\r\n]|\p{Cf}/u
const LONG_LINE_BYTES = 5 * 1024 * 1024

let server: Server
let url: string
let answer: (path: string, res: ServerResponse) => void
beforeEach(async () => {
  server = createServer((req, res) => answer(req.url as string, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  await endChildren()
  server.close()
  server.closeAllConnections()
  removeDirectories()
})

const env = { COUNTERSIGN_API_KEY: CHOSEN_KEY }
const json = (res: ServerResponse, status: number, body: unknown) =>
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))

/** Writes the same again and again, for as long as somebody reads. */
function endless(res: ServerResponse, text: string): void {
  const more = (): void => {
    while (!res.destroyed && res.write(text)) {}
  }
  res.on('drain', more)
  more()
}

async function onTerminal(args: string): Promise<{ readonly screen: string; readonly code: number | null }> {
  const terminal = new Terminal(`${process.execPath} ${MAIN} audit ${args} --url ${url}`, { env })
  const { code } = await terminal.end(60_000)
  return { screen: terminal.stdout, code }
}

describe('a terminal obeys nothing', () => {
  it.each<[string, string, (res: ServerResponse) => void]>([
    ['prove', 'of a problem', (res) => json(res, 500, { title: `Broken ${HARMFUL}`, detail: `so ${HARMFUL}` })],
    ['prove', 'of an error page', (res) => res.writeHead(502).end(`Bad gateway ${HARMFUL}`)],
    ['export', 'of a problem', (res) => json(res, 500, { code: 'internal', title: `Broken ${HARMFUL}`, status: 500 })],
  ])('%s: %s', async (command, _what, refuse) => {
    answer = (_path, res) => refuse(res)
    const { screen, code } = await onTerminal(command === 'prove' ? 'prove dec_1' : command)
    expect(code).toBe(1)
    expect(screen).toMatch(/50[02]/)
    expect(screen).not.toMatch(OBEYED)
  })

  it('of the origin of a checkpoint', async () => {
    const origin = `evil${HARMFUL.slice(-4)}/root`
    const root = Buffer.alloc(32).toString('base64')
    const note = `${origin}\n1\n${root}\n\n— evil AAAAAAAA\n`
    const checkpoint = { origin, size: 1, root, created_at: '2026-11-21T10:00:00.000Z', note, verifier_keys: [] }
    answer = (path, res) =>
      json(
        res,
        200,
        path.startsWith('/v1/audit/consistency')
          ? { log: null, from: 0, path: [], checkpoint: note }
          : { data: [], root: checkpoint },
      )
    const { screen } = await onTerminal(`export --checkpoint-only --witness ${join(newDirectory(), 'kept')}`)
    expect(screen).toMatch(/evil|control character/)
    expect(screen).not.toMatch(OBEYED)
  })

  it('of what is written to a file and shown later', async () => {
    const errors = [{ pointer: '/decision_id', detail: `must be an id ${HARMFUL}` }]
    answer = (_path, res) => json(res, 500, { title: `Broken ${HARMFUL}`, errors })
    const child = countersign(['audit', 'prove', 'dec_1', '--url', url], { env })
    expect((await child.end()).code).toBe(1)
    expect(child.stderr).toMatch(/Broken .* \/decision_id must be an id/)
    expect(child.stderr).not.toMatch(OBEYED)
    // The sentence is all there is to say.
    expect(JSON.parse(child.stderr)).not.toHaveProperty('err')
  })
})

describe('an answer without an end', () => {
  it('is not read for ever', async () => {
    answer = (_path, res) => endless(res.writeHead(200, { 'Content-Type': 'application/json' }), ' '.repeat(64 * 1024))
    const child = countersign(['audit', 'prove', 'dec_1', '--url', url], { env })
    expect((await child.end()).code).toBe(1)
    expect(child.stderr).toContain('answered more than')
  })

  it('of an export may be long, but no line of it', async () => {
    const line = `${'a'.repeat(LONG_LINE_BYTES)}\n`
    answer = (_path, res) => res.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end(line)
    const folder = newDirectory()
    const out = join(folder, 'export.ndjson')
    writeFileSync(out, 'old')
    const child = countersign(['audit', 'export', '--out', out, '--url', url], { env })
    expect((await child.end()).code).toBe(1)
    expect(child.stderr).toContain('too long')
    expect(readFileSync(out, 'utf8')).toBe('old')
    expect(readdirSync(folder)).toEqual(['export.ndjson'])
  })
})

it('an export that is refused ends as the refusal is to be mended', async () => {
  answer = (path, res) => {
    const status = Number(path.slice(1, 4))
    json(res, status, { status, code: 'refused', title: 'Refused.' })
  }
  const codes = { 400: 64, 401: 78, 403: 78, 404: 1 }
  const runs = Object.entries(codes).map(async ([status, code]) => {
    const child = countersign(['audit', 'export', '--url', `${url}/${status}`], { env })
    expect([status, (await child.end()).code]).toEqual([status, code])
    expect(child.stderr).toContain(status)
    expect(child.stdout).toBe('')
  })
  await Promise.all(runs)
})
