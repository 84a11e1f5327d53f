import { poll } from '@countersign/concurrency'
import type { AdminCommand, CommandResult } from '../../ports/admin-command.js'
import { completeCommand, pendingCommands, readCommand, removeCommand } from './spool.js'

export interface SpoolWatch {
  readonly dataDir: string
  /** Rejects when the command has to wait: it is executed again at the next poll. */
  readonly execute: (command: AdminCommand) => Promise<CommandResult>
  /** Gets why a command was refused, removed or has to wait, or why the spool cannot be read: each reason once. */
  readonly onError: (error: unknown) => void
  /** 500 when absent. */
  readonly intervalMs?: number
}

/**
 * Polls the spool and executes its commands. Does not keep the process alive.
 *
 * @returns stops polling, once the command in progress has ended
 */
export function watchSpool({ dataDir, execute, onError, intervalMs = 500 }: SpoolWatch): () => Promise<void> {
  let reported: ReadonlySet<string> = new Set()
  const executePending = async (): Promise<void> => {
    const failing = new Set<string>()
    const reportOnce = (path: string, error: unknown): void => {
      failing.add(path)
      if (!reported.has(path)) onError(error)
    }
    try {
      for (const path of await pendingCommands(dataDir))
        await executeOne(path, execute, onError).catch((error: unknown) => reportOnce(path, error))
    } catch (error) {
      reportOnce(dataDir, error)
    }
    reported = failing
  }
  return poll(executePending, { everyMs: intervalMs, onError }).stop
}

async function executeOne(path: string, execute: SpoolWatch['execute'], onError: SpoolWatch['onError']): Promise<void> {
  let command: AdminCommand | null
  try {
    command = await readCommand(path)
  } catch (cause) {
    await removeCommand(path)
    onError(new Error('The file is not an admin command. It was removed.', { cause }))
    return
  }
  if (command === null) return
  const result = await execute(command)
  await completeCommand(path, result)
  if ('refused' in result) onError(new Error(result.refused))
}
