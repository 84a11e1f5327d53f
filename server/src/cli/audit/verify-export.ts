import { type Checkpoint, ExportVerifier, type TrustedKeys, type VerifiedExport } from '@countersign/audit-log'
import { contradictions } from './balances.js'
import { openBytes } from './input.js'
import { linesOf } from './lines.js'
import { Progress } from './progress.js'
import { counted, type Finding, findingOf } from './verdict.js'

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
  try {
    let bytes = 0
    for await (const line of linesOf(chunks)) {
      await verifier.add(line)
      bytes += line.length + 1
      progress.at(verifier.lines, bytes)
    }
    verified = verifier.end()
  } catch (error) {
    const finding = findingOf(error)
    if (finding === null) throw error
    return finding
  } finally {
    progress.end()
  }
  const differences = await contradictions(verified.budgets, budgets)
  if (differences.length === 0) return intact(verified, kept.length, budgets.length)
  return {
    result: 'tampered',
    lines: ['The budgets do not follow from the entries.', ...differences.map(({ text }) => text)],
    details: { budget_differences: differences.map(({ details }) => details) },
  }
}

function intact({ logs, checkpoints, root, budgets }: VerifiedExport, kept: number, balances: number): Finding {
  const entries = [...logs.values()].reduce((sum, size) => sum + size, 0)
  const accounts = budgets.accounts()
  const rootHash = Buffer.from(root.root).toString('base64')
  return {
    result: 'intact',
    lines: [
      `${counted(entries, 'entry', 'entries')} of ${counted(logs.size, 'log')}, under ${counted(checkpoints, 'checkpoint')}.`,
      ...[...logs].map(([log, size]) => `  log ${log}: ${counted(size, 'entry', 'entries')}`),
      `  ${root.origin}: root ${rootHash} at ${root.size}`,
      `  ${counted(accounts.length, 'budget account')}, without a contradiction${balances > 0 ? ', as --budgets says' : ''}`,
      ...(kept > 0 ? [`  ${counted(kept, 'kept checkpoint')} in its past`] : []),
    ],
    details: {
      entries,
      logs: Object.fromEntries(logs),
      checkpoints,
      root: { origin: root.origin, size: root.size, root: rootHash },
      budgets: accounts,
    },
  }
}
