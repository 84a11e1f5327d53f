/** The findings of the audit log commands, for people and programs. */
import { IncompleteError, ProofError, TamperedError } from '@countersign/audit-log'
import { printable } from '@countersign/client/text'
import { jsonLine } from '../live/shown-text.js'

/** Exit codes. */
export const VERDICTS = { intact: 0, tampered: 2, incomplete: 3 } as const

export interface Finding {
  readonly result: keyof typeof VERDICTS
  /** Sentences for a person, one per line. */
  readonly lines: readonly string[]
  /** Further details for a program. */
  readonly details?: object
}

/** Returns the finding for an error of the package. @throws any other error */
export function findingOf(error: unknown): Finding {
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
  throw error
}

/** Prints the finding, and returns the exit code. Texts from files are shown without terminal control characters. */
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
