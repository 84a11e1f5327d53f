/** What `countersign audit export` makes of answers that are no export, and of places that it cannot write to. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { auditExport } from './export.js'

let server: Server
let url: string
let folder: string
let out: string
let asked: number
let answer: (res: ServerResponse) => void
beforeEach(async () => {
  vi.stubEnv('COUNTERSIGN_API_KEY', 'cs_sk_test')
  asked = 0
  server = createServer((_req, res) => {
    asked += 1
    answer(res)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  folder = mkdtempSync(join(tmpdir(), 'audit-export-'))
  out = join(folder, 'export.ndjson')
})
afterEach(() => {
  vi.unstubAllEnvs()
  server.close()
  server.closeAllConnections()
  rmSync(folder, { recursive: true })
})

const ndjson = (res: ServerResponse) => res.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
const FIRST = '{"checkpoint":"a"}\n'
const failure = (text: RegExp) => ({ exitCode: 1, message: expect.stringMatching(text) })

describe('an answer that is no export leaves no file', () => {
  it.each<[string, RegExp, (res: ServerResponse) => void]>([
    ['a text', /Line 1: It is not JSON/, (res) => ndjson(res).end('hello\n')],
    ['entries alone', /Line 1/, (res) => ndjson(res).end('{"a":1}\n')],
    ['nothing', /no line/, (res) => ndjson(res).end()],
    ['a line without an end', /cut off/, (res) => ndjson(res).end(`${FIRST}{"a":`)],
    [
      'a page',
      /not a stream|not a JSON object/,
      (res) => res.writeHead(200, { 'Content-Type': 'text/html' }).end('hello'),
    ],
    ['a page elsewhere', /redirect/, (res) => res.writeHead(302, { Location: '/page' }).end()],
    ['one that breaks off', /Repeat/, (res) => ndjson(res).write(FIRST, () => res.destroy())],
  ])('%s', async (_what, text, refuse) => {
    answer = refuse
    const fault = await auditExport({ out, url }).catch((error: Error) => error)
    expect(fault).toMatchObject(failure(text))
    expect(fault).toMatchObject({ message: expect.stringContaining(url) })
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('a place that cannot be written to', () => {
  it('is known before anything is asked for', async () => {
    const missing = join(folder, 'missing')
    const kept = join(folder, 'kept')
    for (const path of [join(missing, 'x'), folder])
      await expect(auditExport({ out: path, url, witness: [kept] })).rejects.toMatchObject(failure(/--out/))
    mkdirSync(kept)
    const keep = auditExport({ checkpointOnly: true, url, witness: [kept] })
    await expect(keep).rejects.toMatchObject(failure(/kept is not a file.*--witness/))
    expect(asked).toBe(0)
  })

  it.skipIf(process.platform === 'win32')('lets go of the answer when nobody reads any more', async () => {
    execFileSync('mkfifo', [out])
    const hungUp = new Promise((resolve) => {
      answer = (res) => {
        res.on('close', resolve)
        const more = (): void => {
          while (!res.destroyed && res.write(FIRST.repeat(1_000))) {}
        }
        ndjson(res).on('drain', more)
        more()
      }
    })
    const written = auditExport({ out, url })
    const reader = await open(out)
    await reader.read(Buffer.alloc(FIRST.length))
    await reader.close()
    expect(await written).toBe(0)
    await hungUp
  })
})
