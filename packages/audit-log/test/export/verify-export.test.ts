import { generateKeyPairSync } from 'node:crypto'
import {
  type Checkpoint,
  ExportVerifier,
  type ExportVerifierOptions,
  IncompleteError,
  MerkleTree,
  parseCheckpoint,
  parseNote,
  TamperedError,
  type VerifiedExport,
} from '@countersign/audit-log'
import { describe, expect, it } from 'vitest'
import { entryOf, exportOf, exportUnder, noteOf, publicKey, signed, verifyEd25519 } from './export-of.js'

const SIZES = { a: 60, b: 41, c: 23 }
const logs = Object.entries(SIZES).map(([log, size]) => [...Array(size).keys()].map((index) => entryOf(log, index)))
const whole = exportOf(logs)
const FIRST_ENTRY = whole.notes.length

type Lines = readonly (string | Uint8Array)[]

async function verified(lines: Lines, options: Partial<ExportVerifierOptions> = {}): Promise<VerifiedExport> {
  const verifier = new ExportVerifier({ verify: verifyEd25519, publicKeys: [publicKey], ...options })
  for (const line of lines) await verifier.add(typeof line === 'string' ? new TextEncoder().encode(line) : line)
  return verifier.end()
}

async function fault(lines: Lines, options: Partial<ExportVerifierOptions> = {}): Promise<Error> {
  return verified(lines, options).then(
    () => new Error('It passed.'),
    (error: Error) => error,
  )
}

const keptOf = (note: string | undefined) => [parseCheckpoint(parseNote(note as string).text)]

describe('an export as it was written', () => {
  it('passes, and says how much it was', async () => {
    const { logs: sizes, checkpoints, root } = await verified(whole.lines)
    expect(Object.fromEntries(sizes)).toEqual(SIZES)
    expect(checkpoints).toBe(whole.notes.length - 1)
    expect(root).toEqual(keptOf(whole.notes.at(-1))[0])
  })

  it('passes without any entry', async () => {
    const { logs: sizes, checkpoints } = await verified(exportOf([]).lines)
    expect([sizes.size, checkpoints]).toEqual([0, 0])
  })

  it('passes although the keys of earlier checkpoints are not published any more', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const other = exportOf(logs, 7, privateKey)
    const root = signed(parseNote(other.notes.at(-1) as string).text)
    const lines = other.lines.with(other.notes.length - 1, JSON.stringify({ checkpoint: root }))
    expect(await fault(other.lines)).toMatchObject({ message: expect.stringContaining('The signature of') })
    expect((await verified(lines)).checkpoints).toBe(other.notes.length - 1)
  })
})

describe('a change of a line', () => {
  it.each([...whole.lines.keys()])('is found there: a byte of line %i', async (at) => {
    const line = new TextEncoder().encode(whole.lines[at])
    const place = (at * 7919) % line.length
    line[place] = (line[place] as number) ^ (1 << (at % 8))
    const found = await fault([...whole.lines.slice(0, at), line, ...whole.lines.slice(at + 1)])
    expect(found).toBeInstanceOf(TamperedError)
    // A checkpoint is known to be wrong when that of the root log does not fit.
    if (at >= FIRST_ENTRY) expect((found as TamperedError).line).toBe(at + 1)
  })

  it('of the spelling is found', async () => {
    const spelled = whole.lines[FIRST_ENTRY]?.replace('{', '{ ') as string
    expect(await fault(whole.lines.with(FIRST_ENTRY, spelled))).toMatchObject({
      line: FIRST_ENTRY + 1,
      message: expect.stringContaining('canonical JSON'),
    })
  })

  it('is found at the next checkpoint when its leaf hash was computed again', async () => {
    const forged = JSON.stringify({ ...entryOf('b', 9, { actor: 'key_2' }) })
    const canonical = exportOf([[entryOf('b', 9, { actor: 'key_2' })]]).lines.at(-1) as string
    expect(JSON.parse(forged)).toEqual(JSON.parse(canonical))
    const at = FIRST_ENTRY + SIZES.a + 9
    expect(await fault(whole.lines.with(at, canonical))).toMatchObject({
      line: FIRST_ENTRY + SIZES.a + 14,
      message: expect.stringContaining('of its entries 7 to 13 one was replaced'),
    })
  })
})

describe('a checkpoint of an empty log', () => {
  const EMPTY = noteOf('log/a', new MerkleTree())
  const forged = logs.map((entries) => entries.map((entry) => entryOf(entry.log, entry.index, { actor: null })))

  it('is none that a server writes', async () => {
    const { lines } = exportUnder([EMPTY, ...whole.notes.slice(0, -1)], forged.flat())
    expect(await fault(lines)).toMatchObject({ name: 'TamperedError', line: 1, message: expect.stringContaining('0') })
  })

  it('hides no other when it was kept', async () => {
    const rewritten = exportOf(forged)
    for (const [empty, note] of [
      [EMPTY, whole.notes[0]],
      [exportOf([]).notes[0], whole.notes.at(-1)],
    ]) {
      const kept = [...keptOf(empty), ...keptOf(note)]
      expect(await fault(rewritten.lines, { kept })).toMatchObject({ name: 'TamperedError' })
      expect((await verified(whole.lines, { kept })).logs.size).toBe(3)
    }
  })
})

describe('the place of a fault', () => {
  const firstOfB = FIRST_ENTRY + SIZES.a
  const first = whole.lines[firstOfB] as string

  it('is the first entry of a log when that was changed, is gone, or was replaced', async () => {
    const place = { log: 'b', index: 0 }
    const changed = whole.lines.with(firstOfB, first.replace('key_1', 'key_2'))
    expect(await fault(changed)).toMatchObject({ line: firstOfB + 1, place, entryId: 'aud_b0' })
    expect(await fault(whole.lines.toSpliced(firstOfB, 1))).toMatchObject({ line: firstOfB + 1, place })
    const { notes, lines } = exportOf([[entryOf('b', 0)]])
    const forged = exportOf([[entryOf('b', 0, { actor: 'key_2' })]]).lines.at(-1) as string
    expect(await fault(lines.with(-1, forged))).toMatchObject({ line: notes.length + 1, place, entryId: 'aud_b0' })
  })

  it('is that of the entry that stands there when any log could begin', async () => {
    const unknown = whole.lines.with(firstOfB, exportOf([[entryOf('x', 0)]]).lines.at(-1) as string)
    expect(await fault(unknown)).toMatchObject({ place: { log: 'x', index: 0 }, entryId: 'aud_x0' })
    expect(await fault(whole.lines.with(firstOfB, '{}'))).toMatchObject({ place: null, entryId: null })
  })

  it('is said to be of another entry when another stands there, not when the same was changed', async () => {
    const [at, belongs] = [firstOfB + 9, 'Entry 9 of log b belongs here.']
    for (const line of ['{}', whole.lines[at + 1] as string, whole.lines[FIRST_ENTRY] as string])
      expect((await fault(whole.lines.with(at, line))).message).toContain(belongs)
    const changed = (whole.lines[at] as string).replace('key_1', 'key_2')
    expect((await fault(whole.lines.with(at, changed))).message).not.toContain('belongs here')
    const forged = exportOf([[entryOf('b', 9, { actor: 'key_2' })]]).lines.at(-1) as string
    expect(await fault(whole.lines.with(at, forged))).toMatchObject({
      place: { log: 'b', index: 13 },
      message: expect.stringMatching(/of its entries 7 to 13 one was replaced\.$/),
    })
  })
})

describe('an amount of an entry', () => {
  const ROW = { policy_id: 'pol_1', unit: 'EUR', period: 'daily', starts_at: null, reserved: true }
  const asking = (amount: number | string | null) =>
    entryOf('a', 1, { data: { version: 1, budgets: [{ ...ROW, amount }], accounts: [{}] } })

  it.each([1e308, -1, '5', null])('that is none is a fault of its line: %s', async (amount) => {
    const { notes, lines } = exportOf([[entryOf('a', 0), asking(amount)]])
    expect(await fault(lines)).toMatchObject({
      name: 'TamperedError',
      line: notes.length + 2,
      place: { log: 'a', index: 1 },
      entryId: 'aud_a1',
    })
  })
})

describe('a line', () => {
  it.each([...whole.lines.keys()].filter((at) => at % 5 === 0))('that is missing is found: %i', async (at) => {
    const found = await fault(whole.lines.toSpliced(at, 1))
    expect(found.message).not.toBe('It passed.')
    if (at >= FIRST_ENTRY && JSON.parse(whole.lines[at + 1] ?? '{}').index > 0)
      expect(found).toMatchObject({ name: 'TamperedError', line: at + 1 })
  })

  it.each([...whole.lines.keys()].filter((at) => at % 5 === 1))('that changed places is found: %i', async (at) => {
    const other = (at * 31 + 17) % whole.lines.length
    const swapped = whole.lines.with(at, whole.lines[other] as string).with(other, whole.lines[at] as string)
    const found = await fault(swapped)
    expect(found).toBeInstanceOf(TamperedError)
    const first = Math.min(at, other)
    // The first entries of two logs may begin either.
    const begins = swapped[first]?.includes('"index":0,')
    if (first >= FIRST_ENTRY) expect((found as TamperedError).line).toBe(begins ? first + 2 : first + 1)
  })

  it('that comes twice is found', async () => {
    const at = FIRST_ENTRY + 5
    const found = await fault(whole.lines.toSpliced(at, 0, whole.lines[at] as string))
    expect(found).toMatchObject({ name: 'TamperedError', line: at + 2 })
  })

  it('behind the last checkpoint is found', async () => {
    const more = exportOf([[entryOf('c', SIZES.c)]]).lines.at(-1) as string
    expect(await fault([...whole.lines, more])).toMatchObject({
      message: expect.stringContaining(`No checkpoint covers entry ${SIZES.c} of log c`),
    })
  })
})

describe('an export that ends too early', () => {
  it.each([...whole.lines.keys()].filter((at) => at % 3 === 0))('is incomplete, with %i lines', async (lines) => {
    expect(await fault(whole.lines.slice(0, lines))).toBeInstanceOf(IncompleteError)
  })

  it('says what is missing', async () => {
    const { message } = await fault(whole.lines.slice(0, -3))
    expect(message).toBe('Log c has 23 entries, and 20 are here: entry 20 is the first that is missing.')
  })

  it('is incomplete without the entries of one writer', async () => {
    const lines = whole.lines.filter((line) => !line.includes('"log":"b"'))
    expect(await fault(lines)).toMatchObject({ name: 'IncompleteError', message: expect.stringContaining('Log b') })
  })

  it('is tampered with when the checkpoints of one writer are gone too', async () => {
    const lines = whole.lines.filter((line) => !/"log":"b"|log\/b/.test(line))
    expect(await fault(lines)).toMatchObject({ name: 'TamperedError', message: expect.stringContaining('root log') })
  })
})

describe('an export that was rewritten', () => {
  const rewritten = exportOf(
    logs.map((entries) => entries.map((entry) => entryOf(entry.log, entry.index, { actor: null }))),
  )

  it('passes without a checkpoint that was kept elsewhere', async () => {
    expect((await verified(rewritten.lines)).logs.size).toBe(3)
  })

  it('differs from a kept checkpoint of the root log, and of any log', async () => {
    const found = expect.objectContaining({
      name: 'TamperedError',
      message: expect.stringContaining('kept checkpoint'),
    })
    for (const note of [whole.notes[0], whole.notes[4], whole.notes.at(-1)])
      expect(await fault(rewritten.lines, { kept: keptOf(note) })).toEqual(found)
    for (const note of whole.notes) expect((await verified(whole.lines, { kept: keptOf(note) })).logs.size).toBe(3)
  })

  it('differs from a kept checkpoint of a log although the issuer had another name then', async () => {
    const { size, root } = keptOf(whole.notes[0])[0] as Checkpoint
    const kept = [{ origin: 'earlier.example/log/a', size, root }]
    expect((await verified(whole.lines, { kept })).logs.size).toBe(3)
    expect(await fault(rewritten.lines, { kept })).toMatchObject({
      message: expect.stringContaining('the kept checkpoint of earlier.example/log/a'),
    })
  })

  it('is found to be older, and to lack a log', async () => {
    const earlier = exportOf(logs.map((entries) => entries.slice(0, 14)))
    expect(await fault(earlier.lines, { kept: keptOf(whole.notes.at(-1)) })).toMatchObject({ name: 'IncompleteError' })
    expect(await fault(earlier.lines, { kept: keptOf(whole.notes.at(-2)) })).toMatchObject({ name: 'IncompleteError' })
    expect(await fault(exportOf(logs.slice(1)).lines, { kept: keptOf(whole.notes[0]) })).toMatchObject({
      message: expect.stringContaining('no log a'),
    })
  })

  it('by somebody who has another key is found', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    expect(await fault(exportOf(logs, 7, privateKey).lines)).toMatchObject({ name: 'TamperedError' })
    expect(await fault(whole.lines, { publicKeys: [] })).toMatchObject({
      message: expect.stringContaining('No known key has signed it'),
    })
  })
})
