/** Calls that are answered by a task at once (2025-11-25): they are settled when the task ends, by how it ended. */
import type { ActionOutcome } from '@countersign/client'
import { outcomeOfResult, type ToolResult } from './tool-result.js'

/** Nobody knows how far it came: what was asked for expires, and counts as spent. */
const UNKNOWN: ActionOutcome = { kind: 'unknown' }
/** So many tasks can be open for one gate; of one more the oldest is settled no more. */
const MOST = 1_000

/** The id of the task that a call was answered by; undefined for any other result. */
export function taskOf(result: ToolResult): string | undefined {
  const { taskId } = Object(result.task)
  return typeof taskId === 'string' ? taskId : undefined
}

/**
 * The tasks that calls of one gate were answered by, until they end: by what passes through a connection.
 *
 * A scope is whoever may see a task, such as a session: a task of another scope is another task, whatever its id.
 */
export class OpenTasks {
  readonly #ends = new Map<string, (outcome: ActionOutcome) => void>()

  /**
   * How a task ends: never, if nothing tells of it. Two open tasks of one id cannot be told apart: nobody knows how either ends.
   */
  endOf(scope: string, taskId: string): Promise<ActionOutcome> {
    const key = keyOf(scope, taskId)
    const same = this.#ends.get(key)
    if (same !== undefined) {
      same(UNKNOWN)
      return Promise.resolve(UNKNOWN)
    }
    const [oldest] = this.#ends.values()
    if (this.#ends.size >= MOST) oldest?.(UNKNOWN)
    return new Promise((resolve) => {
      this.#ends.set(key, (outcome) => {
        this.#ends.delete(key)
        resolve(outcome)
      })
    })
  }

  /** What `tasks/result` was answered by, if it was a result. An error says nothing: the task may not be known any more. */
  sawResult(scope: string, taskId: unknown, result: unknown): void {
    this.#end(scope, taskId, outcomeOfTask('completed', Object(result)))
  }

  /**
   * A task as `notifications/tasks/status`, `tasks/get` and `tasks/cancel` tell it. That it is completed says nothing: its result
   * may be an error.
   */
  sawStatus(scope: string, task: unknown): void {
    const { taskId, status, statusMessage } = Object(task)
    if (status !== 'completed') this.#end(scope, taskId, outcomeOfTask(status, undefined, statusMessage))
  }

  #end(scope: string, taskId: unknown, outcome: ActionOutcome | undefined): void {
    if (typeof taskId !== 'string' || outcome === undefined) return
    this.#ends.get(keyOf(scope, taskId))?.(outcome)
  }
}

/** What a status says of the action; undefined while it goes on. What was cancelled may have happened. */
function outcomeOfTask(status: unknown, result?: ToolResult, message?: unknown): ActionOutcome | undefined {
  if (status === 'cancelled') return UNKNOWN
  if (status !== 'completed' && status !== 'failed') return undefined
  const said = result && outcomeOfResult(result)
  if (said !== undefined) return said
  if (status === 'completed') return result === undefined ? UNKNOWN : { kind: 'succeeded', value: result }
  return { kind: 'failed', error: typeof message === 'string' ? message : '' }
}

function keyOf(scope: string, taskId: string): string {
  return JSON.stringify([scope, taskId])
}
