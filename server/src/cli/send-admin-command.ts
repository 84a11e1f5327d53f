import { setTimeout as sleep } from 'node:timers/promises'
import { readResult, submitCommand, withdrawCommand } from '../adapters/admin-command-spool/spool.js'
import type { AdminCommand, CommandResult } from '../ports/admin-command.js'

const POLL_MS = 50

/** Sends a command to the running server. Null when no result came in time; the command is then withdrawn. */
export async function sendAdminCommand(
  dataDir: string,
  command: AdminCommand,
  waitMs: number,
): Promise<CommandResult | null> {
  const path = await submitCommand(dataDir, command)
  const end = performance.now() + waitMs
  while ((await readResult(path)) === null && performance.now() < end) await sleep(POLL_MS)
  return withdrawCommand(path)
}
