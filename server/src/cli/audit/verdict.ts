/** What the commands about the audit log find, for a person and for a program. */
import { IncompleteError, ProofError, TamperedError } from '@countersign/audit-log'
import { printable } from '@countersign/client/kernel'
import { jsonLine } from '../live/shown-text.js'

/** Exit codes. */
export const VERDICTS = { intact: 0, tampered: 2, incomplete: 3 } as const

export interface Finding {
  readonly result: keyof typeof VERDICTS
  /** Sentences for a person, each a line. */
  readonly lines: readonly string[]
  /** What a program is told besides. */
  readonly details?: object
}

/** The finding that an error of the package is; null for any other error. */
export function findingOf(error: unknown): Finding | null {
  const { message } = error as Error
  const lines = [message]
  if (error instanceof TamperedError) {
    const { line, place, entryId } = error
    const details = { line, log: place?.log ?? null, index: place?.index ?? null, entry_id: entryId }
    return { result: 'tampered', lines, details }
  }
  if (error instanceof ProofError) return { result: 'tampered', lines }
  if (error instanceof IncompleteError) {
    const [place] = error.missing
    return {
      result: 'incomplete',
      lines: message.split('\n'),
      details: { log: place?.log ?? null, index: place?.index ?? null },
    }
  }
  return null
}

/** Prints it, and gives the exit code. Texts out of files are shown without what a terminal would obey. */
export function report({ result, lines, details }: Finding, isJson = false): number {
  const word = { intact: 'Intact', tampered: 'Tampered with', incomplete: 'Incomplete' }[result]
  const [first = '', ...more] = lines.map((line) => printable(line))
  const shown = [`${word}: ${first}`, ...more]
  process.stdout.write(
    isJson ? `${jsonLine({ result, message: lines.join('\n'), ...details })}\n` : `${shown.join('\n')}\n`,
  )
  return VERDICTS[result]
}

/** `1 entry`, `2 entries`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
