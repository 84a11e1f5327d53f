/**
 * The lines of `checkpoints.ndjson`: the first gives the format, and each further one changes the state of the lines
 * before it.
 */
import { parseCheckpoint, parseNote } from '@countersign/audit-log'
import { z } from 'zod'
import type { Remembered, RememberedTree, RememberedTrees, UnsavedCheckpoints } from '../../ports/checkpoint-memory.js'

const HASH = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
const SIZE = z.int().min(0)
const RootSchema = z.strictObject({ name: z.string(), size: SIZE, root: HASH })
const CheckpointSchema = z.strictObject({
  ...{ index: SIZE, log: z.string(), size: SIZE, created_at: z.string(), note: z.string() },
})
const NAMES = z.array(z.string()).optional()
const LineSchema = z.union([
  z.strictObject({ format: z.literal(1) }),
  z.strictObject({ upgraded: z.literal(true) }),
  z.strictObject({ restored: z.literal(true), given_up: NAMES }),
  z.strictObject({ seen: RootSchema, logs: z.record(z.string(), z.tuple([SIZE, HASH])), given_up: NAMES }),
  z.strictObject({ unsaved: RootSchema, checkpoints: z.array(CheckpointSchema) }),
  z.strictObject({ saved: z.literal(true) }),
])
type Line = z.infer<typeof LineSchema>

export const FORMAT_LINE: Line = { format: 1 }
export const SAVED_LINE: Line = { saved: true }
export const UPGRADED_LINE: Line = { upgraded: true }

/** @param givenUp all names, or none to keep those that are remembered */
export function seenLine({ root, logs }: RememberedTrees, givenUp: readonly string[] = []): Line {
  const pairs = [...logs].map(([log, tree]) => [log, [tree.size, tree.root]] as const)
  return { seen: { ...root }, logs: Object.fromEntries(pairs) as Record<string, [number, string]>, ...named(givenUp) }
}

function named(givenUp: readonly string[]) {
  return givenUp.length === 0 ? {} : { given_up: [...givenUp] }
}

export function unsavedLine({ root, checkpoints }: UnsavedCheckpoints): Line {
  return { unsaved: { ...root }, checkpoints: checkpoints.map((one) => ({ ...one })) }
}

/** Writes everything that is remembered, in the fewest lines. */
export function linesOf(remembered: Remembered): Line[] {
  if (remembered.kind === 'restored') return [FORMAT_LINE, { restored: true, ...named(remembered.givenUp) }]
  if (remembered.kind !== 'trees') return [FORMAT_LINE]
  const { unsaved, givenUp } = remembered
  return [FORMAT_LINE, seenLine(remembered, givenUp), ...(unsaved === null ? [] : [unsavedLine(unsaved)])]
}

export function textOf(lines: readonly Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** @throws Error when it is not a line of the file */
export function parseLine(text: string): Line {
  return LineSchema.parse(JSON.parse(text))
}

/** @throws Error when the line cannot follow this state */
export function after(remembered: Remembered, line: Line): Remembered {
  if ('format' in line) return remembered
  if ('upgraded' in line) return { kind: 'nothing', isNew: false }
  if ('restored' in line) return { kind: 'restored', givenUp: line.given_up ?? [] }
  const known = remembered.kind === 'trees' ? remembered : null
  if ('seen' in line) {
    const seen = Object.entries(line.logs).map(([log, [size, root]]) => [log, { size, root }] as const)
    const givenUp = line.given_up ?? known?.givenUp ?? []
    return { kind: 'trees', root: line.seen, logs: new Map([...(known?.logs ?? []), ...seen]), unsaved: null, givenUp }
  }
  if (known === null) throw new Error('A checkpoint follows nothing.')
  if ('unsaved' in line) return { ...known, unsaved: { root: line.unsaved, checkpoints: line.checkpoints } }
  if (known.unsaved === null) throw new Error('Nothing was unsaved.')
  return { ...known, ...withUnsaved(known, known.unsaved), unsaved: null }
}

/** Returns the abandoned names when a root log of another name takes over; null for one that has no name yet. */
export function givenUpFor(name: string | null, former: Remembered): readonly string[] {
  if (former.kind !== 'trees') return former.kind === 'restored' ? former.givenUp : []
  return [...new Set([...former.givenUp, former.root.name])].filter((one) => one !== name)
}

function withUnsaved({ logs }: RememberedTrees, { root, checkpoints }: UnsavedCheckpoints): RememberedTrees {
  return { root, logs: new Map([...logs, ...checkpoints.flatMap(({ log, note }) => newest(log, note))]) }
}

/** Empty for the checkpoint of a former root log. */
function newest(log: string, note: string): readonly (readonly [string, RememberedTree])[] {
  const { origin, size, root } = parseCheckpoint(parseNote(note).text)
  if (!origin.endsWith(`/log/${log}`)) return []
  return [[log, { size, root: Buffer.from(root).toString('base64url') }]]
}
