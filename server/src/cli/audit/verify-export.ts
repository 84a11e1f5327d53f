import {
  type Checkpoint,
  ExportVerifier,
  IncompleteError,
  type TrustedKeys,
  type VerifiedExport,
} from '@countersign/audit-log'
import { compareBudgets, notAddedUpText } from './balances.js'
import { openBytes } from './input.js'
import { Progress } from './progress.js'
import { counted, type Finding, findingOf } from './verdict.js'
import { addLines } from './verify-lines.js'

export interface VerifyExportOptions {
  /** `-` for standard input. */
  readonly file: string
  readonly keys: TrustedKeys
  readonly kept: readonly Checkpoint[]
  /** Files with answers of the routes of budgets. */
  readonly budgets: readonly string[]
}

/** Reads the export once, line by line. */
export async function verifyExport({ file, keys, kept, budgets }: VerifyExportOptions): Promise<Finding> {
  const { chunks, size } = await openBytes(file)
  const verifier = new ExportVerifier({ ...keys, kept })
  const progress = new Progress(size)
  let verified: VerifiedExport
  let cut: IncompleteError | null = null
  try {
    cut = await cutIn(addLines(verifier, chunks, progress))
    verified = verifier.end()
    if (cut !== null) throw cut
  } catch (error) {
    const finding = findingOf(error)
    return cut === null || cut === error ? finding : { ...finding, lines: [cut.message, ...finding.lines] }
  } finally {
    progress.end()
  }
  const { contradictions, compared, notAddedUp } = await compareBudgets(verified.budgets, budgets)
  if (contradictions.length === 0) {
    const { lines, details, ...found } = intact(verified, kept.length, budgets.length > 0 ? compared : null)
    return {
      ...found,
      lines: [...lines, ...notAddedUp.map(notAddedUpText)],
      details: { ...details, not_added_up: notAddedUp },
    }
  }
  return {
    result: 'tampered',
    lines: ['The budgets do not match the entries.', ...contradictions.map(({ text }) => text)],
    details: { budget_differences: contradictions.map(({ details }) => details) },
  }
}

/** @returns where the file was cut off in the middle of a line; null when it was not */
async function cutIn(lines: Promise<void>): Promise<IncompleteError | null> {
  try {
    await lines
    return null
  } catch (error) {
    if (error instanceof IncompleteError) return error
    throw error
  }
}

/** @param compared how many of the budget accounts are in the given files; null when there were none */
function intact(
  { logs, checkpoints, root, formerRoots, budgets }: VerifiedExport,
  kept: number,
  compared: number | null,
): Finding {
  const entries = [...logs.values()].reduce((sum, size) => sum + size, 0)
  const accounts = budgets.accounts()
  const rootHash = Buffer.from(root.root).toString('base64')
  return {
    result: 'intact',
    lines: [
      `${counted(entries, 'entry', 'entries')} of ${counted(logs.size, 'log')}, under ${counted(checkpoints, 'checkpoint')}.`,
      ...[...logs].map(([log, size]) => `  log ${log}: ${counted(size, 'entry', 'entries')}`),
      `  ${root.origin}: root ${rootHash} at ${root.size}`,
      ...formerRoots.map(
        ({ origin, size }) => `  which continues ${origin} at ${size}, because the store was restored`,
      ),
      `  ${counted(accounts.length, 'budget account')}, without a contradiction${compared === null ? '' : `; --budgets has ${compared} of them`}`,
      ...(kept > 0 ? [`  ${counted(kept, 'kept checkpoint')} in its past`] : []),
    ],
    details: {
      entries,
      logs: Object.fromEntries(logs),
      checkpoints,
      root: { origin: root.origin, size: root.size, root: rootHash },
      former_roots: formerRoots.map(({ origin, size }) => ({ origin, size })),
      budgets: accounts,
    },
  }
}
