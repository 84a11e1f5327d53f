/** An export of three writers, changed in every way: each change is found, at its place, with the right verdict. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canonicalJson } from '@countersign/contract/canonical-json'
import { stress } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { trustedKeysOf } from '#server/cli/audit/trusted-keys'
import type { Finding } from '#server/cli/audit/verdict'
import { verifyExport } from '#server/cli/audit/verify-export'
import { exportWith, keySetOf, writeLogs } from '../audit-logs.js'
import { runServer } from '../running-server.js'

const ENTRIES = stress.changed_export_entries
const FLIPS = stress.export_changes
const DELETIONS = FLIPS / 10
const SWAPS = FLIPS / 10
const CUTS = FLIPS / 20

interface Line {
  /** Counted from 1. */
  readonly number: number
  readonly text: string
  /** Its first byte. */
  readonly start: number
  /** Of an entry. */
  readonly place: { readonly log: string; readonly index: number } | null
}

let folder: string
let whole: Buffer
let lines: readonly Line[]
/** The line of the root log's checkpoint. */
let rootLine: number
let keys: ReturnType<typeof trustedKeysOf>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'audit-tampering-'))
  const first = await runServer({ settings: { rateLimitPerSecond: 0 } })
  const server = await first.restart({ meanwhile: (dataDir) => writeLogs(dataDir, 3, ENTRIES) })
  whole = Buffer.from(await exportWith(server, ENTRIES))
  keys = trustedKeysOf(await keySetOf(server))
  await server.stop()
  lines = linesOf(whole)
  rootLine = lines.filter(({ place }) => place === null).length
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true }))

function linesOf(bytes: Buffer): Line[] {
  let start = 0
  return bytes
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((text, i) => {
      const { log, index } = JSON.parse(text)
      const line = { number: i + 1, text, start, place: log === undefined ? null : { log, index } }
      start += Buffer.byteLength(text) + 1
      return line
    })
}

async function verified(content: Uint8Array | string): Promise<Finding> {
  const file = join(folder, 'export.ndjson')
  writeFileSync(file, content)
  return verifyExport({ file, keys, kept: [], budgets: [] })
}

const written = (these: readonly Pick<Line, 'text'>[]) => these.map(({ text }) => `${text}\n`).join('')

/** Some numbers below a limit, spread over all of them. */
const spread = (count: number, limit: number): number[] =>
  Array.from({ length: count }, (_, i) => Math.floor(((i + 0.5) * limit) / count + i * 7919) % limit)

/** The line of an entry, with any values. */
const EntryLineSchema = z.object({
  ...{ id: z.string(), leaf: z.string(), type: z.string(), subject: z.string(), data: z.looseObject({}) },
  ...{ log: z.string(), index: z.int().min(0) },
})

/** Which place a line says that it is of; null when it is no line of an entry. */
function placeIn(bytes: string | Uint8Array): Line['place'] {
  try {
    const text = typeof bytes === 'string' ? bytes : new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const { log, index } = EntryLineSchema.parse(JSON.parse(text))
    return canonicalJson(JSON.parse(text)) === text ? { log, index } : null
  } catch {
    return null
  }
}

const isFirst = ({ place }: Line) => place?.index === 0
const isLast = ({ number, place }: Line) => place !== null && lines[number]?.place?.log !== place.log

describe('an export of three writers', () => {
  it('passes as it is', async () => {
    expect(await verified(whole)).toMatchObject({ result: 'intact', details: { entries: lines.length - rootLine } })
    expect(new Set(lines.map(({ place }) => place?.log)).size).toBeGreaterThanOrEqual(4)
  })

  it('is found to be changed in the line of a byte that is', async () => {
    for (const [i, at] of spread(FLIPS, whole.length - 1).entries()) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] as number) ^ (1 << (i % 8))
      const line = lines.findLast(({ start }) => start <= at) as Line
      const { result, details } = await verified(changed)
      expect(result, `byte ${at}`).toBe('tampered')
      // Which of the checkpoints it is shows in that of the root log.
      if (line.place === null) expect([line.number, rootLine]).toContain((details as { line: number }).line)
      else expect(details, `byte ${at}`).toMatchObject({ line: line.number, ...placeOfChanged(line, changed) })
    }
  })

  /** Any log may begin in the line of a first entry: its place is known as far as the entry still says it. */
  function placeOfChanged(line: Line, changed: Buffer): object {
    if (!isFirst(line)) return line.place as object
    const bytes = changed.subarray(line.start, line.start + Buffer.byteLength(line.text))
    const { log = null, index = null } = placeIn(bytes) ?? {}
    return { log, index }
  }

  it('is found to be changed in the first entry of each log, at its place', async () => {
    for (const { number, text, place } of lines.filter(isFirst)) {
      const changed = lines.with(number - 1, {
        ...(lines[number - 1] as Line),
        text: text.replace('"subject":"', '"subject":"x'),
      })
      const details = { line: number, ...place, entry_id: JSON.parse(text).id }
      expect(await verified(written(changed))).toMatchObject({ result: 'tampered', details })
    }
  })

  it('is found to lack a line that is gone, at its place', async () => {
    const removed = [...spread(DELETIONS, lines.length), rootLine - 1, rootLine, lines.length - 1]
    for (const at of removed) {
      const line = lines[at] as Line
      const { result, details } = await verified(written(lines.toSpliced(at, 1)))
      expect(details, line.text).toMatchObject(placeWithout(line))
      expect(result, line.text).toBe(isLast(line) ? 'incomplete' : 'tampered')
    }
  })

  /** Where it shows that a line is gone. */
  function placeWithout(line: Line): object {
    // One line more or less before it: the checkpoint of the root log tells of all of them.
    if (line.place === null) return { line: line.number === rootLine ? rootLine : rootLine - 1 }
    if (isLast(line)) return line.place
    return { line: line.number, ...line.place }
  }

  it('is found to be changed where two lines have changed places', async () => {
    for (const [i, at] of spread(SWAPS, lines.length).entries()) {
      const other = (at + 1 + ((i * 613) % (lines.length - 1))) % lines.length
      const [one, two] = [lines[at] as Line, lines[other] as Line]
      const swapped = lines.with(at, two).with(other, one)
      const { result, details } = await verified(written(swapped))
      const first = Math.min(at, other) + 1
      expect(result, `${at} ${other}`).toBe('tampered')
      const { line } = details as { line: number }
      if (first > rootLine) expect(line).toBe(swapped[first - 1]?.place?.index === 0 ? first + 1 : first)
      else expect(line).toBeLessThanOrEqual(rootLine)
    }
  })

  it('is found to be incomplete wherever it was cut off, with the entry that comes next', async () => {
    for (const at of spread(CUTS, whole.length)) {
      const next = lines.find(({ start, text }) => start + Buffer.byteLength(text) >= at) as Line
      const found = await verified(whole.subarray(0, at))
      expect(found, `${at} bytes`).toMatchObject({ result: 'incomplete', details: next.place ?? {} })
    }
    const { place } = lines.at(-3) as Line
    expect(await verified(written(lines.slice(0, -3)))).toMatchObject({ result: 'incomplete', details: place })
  })

  it('is found to lack a writer, with his checkpoints and without', async () => {
    const { log } = (lines[rootLine + ENTRIES / 2] as Line).place as { readonly log: string }
    const isOf = ({ text, place }: Line) => place?.log === log || text.includes(`/log/${log}\\n`)
    expect(await verified(written(lines.filter(({ place }) => place?.log !== log)))).toMatchObject({
      result: 'incomplete',
      details: { log, index: 0 },
    })
    const left = lines.filter((line) => !isOf(line))
    expect(await verified(written(left))).toMatchObject({
      result: 'tampered',
      details: { line: left.findIndex(({ text }) => text === lines[rootLine - 1]?.text) + 1 },
    })
  })
})
