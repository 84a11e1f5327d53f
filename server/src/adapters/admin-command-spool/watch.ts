import { poll } from '../../concurrency/poll.js'
import type { AdminCommand, CommandResult } from '../../ports/admin-command.js'
import { completeCommand, pendingCommands, readCommand, removeCommand } from './spool.js'

export interface SpoolWatch {
  readonly dataDir: string
  /** Rejects when the command must wait: it is executed again at the next poll. */
  readonly execute: (command: AdminCommand) => Promise<CommandResult>
  /** Called with the reason when a command was refused; its result contains the reason, too. */
  readonly onRefused: (reason: string) => void
  /**
   * Called with the reason why a command was removed or must wait, or why the spool cannot be read: once for each
   * reason.
   */
  readonly onError: (error: unknown) => void
  /** 500 when absent. */
  readonly intervalMs?: number
}

/**
 * Polls the spool and executes its commands. Does not keep the process alive.
 *
 * @returns a function that stops polling, once the command in progress has ended
 */
export function watchSpool({
  dataDir,
  execute,
  onRefused,
  onError,
  intervalMs = 500,
}: SpoolWatch): () => Promise<void> {
  let reported: ReadonlySet<string> = new Set()
  const executePending = async (): Promise<void> => {
    const failing = new Set<string>()
    const reportOnce = (path: string, error: unknown): void => {
      failing.add(path)
      if (!reported.has(path)) onError(error)
    }
    try {
      for (const path of await pendingCommands(dataDir))
        await executeOne(path, { execute, onRefused, onError }).catch((error: unknown) => reportOnce(path, error))
    } catch (error) {
      reportOnce(dataDir, error)
    }
    reported = failing
  }
  return poll(executePending, { everyMs: intervalMs, onError }).stop
}

async function executeOne(
  path: string,
  { execute, onRefused, onError }: Pick<SpoolWatch, 'execute' | 'onRefused' | 'onError'>,
): Promise<void> {
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
  if ('refused' in result) onRefused(result.refused)
}
