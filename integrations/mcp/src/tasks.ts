/** Calls that return a task at once (2025-11-25). They are settled by the outcome of the task, when it ends. */
import type { ActionOutcome } from '@countersign/client'
import { outcomeOfResult, type ToolResult, textOf } from './tool-result.js'

/** The outcome is unknown: the decision stays open until it expires, and then counts as spent. */
const UNKNOWN: ActionOutcome = { kind: 'unknown' }
/** So many tasks can be open for one gate; of one more the oldest is settled no more. */
const MOST = 1_000

/** The id of the task that a call was answered by, of 2025-11-25 or of the extension of 2026; undefined for any other result. */
export function taskOf(result: ToolResult): string | undefined {
  const { taskId } = Object(result.task ?? (result.resultType === 'task' ? result : undefined))
  return typeof taskId === 'string' ? taskId : undefined
}

/**
 * The tasks that calls of one gate were answered by, until they end: by what passes through a connection.
 *
 * A scope, such as a session, limits the visibility of a task. Tasks of different scopes are different, even with the same id.
 */
export class OpenTasks {
  readonly #ends = new Map<string, (outcome: ActionOutcome) => void>()

  /**
   * Resolves with the outcome of a task, or never if no message reports it. If two open tasks have the same id, both outcomes are unknown.
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
    this.#end(scope, taskId, outcomeOfResult(Object(result)) ?? { kind: 'succeeded', value: result })
  }

  /**
   * A task as `notifications/tasks/status`, `tasks/get` and `tasks/cancel` tell it. That it is completed says nothing where its result
   * is not told with it, as by the extension: it may be an error.
   */
  sawStatus(scope: string, task: unknown): void {
    const { taskId, status, statusMessage = '', result, error } = Object(task)
    if (status === 'completed' && typeof result === 'object' && result !== null) this.sawResult(scope, taskId, result)
    if (status === 'failed') {
      const said = `${statusMessage}\n${Object(error).message ?? ''}`.trim()
      this.#end(scope, taskId, { kind: 'failed', error: said })
    }
    // The task may have acted nevertheless.
    if (status === 'cancelled') this.#end(scope, taskId, UNKNOWN)
  }

  #end(scope: string, taskId: unknown, outcome: ActionOutcome): void {
    if (typeof taskId === 'string') this.#ends.get(keyOf(scope, taskId))?.(outcome)
  }
}

/** As `extra.taskStore` of sdk 1.x. */
export interface TaskStore {
  storeTaskResult(taskId: string, status: unknown, result: unknown): Promise<unknown>
  updateTaskStatus(taskId: string, status: unknown, message?: unknown): Promise<unknown>
}

export interface WatchedTasks {
  readonly store: TaskStore
  /** Never, if the tool says nothing, or says it to another store. */
  readonly endOf: (taskId: string) => Promise<ActionOutcome>
}

/**
 * Watches the task store of one call. The tool's report counts even if the store rejects it: a tool may report that a cancelled task
 * has acted.
 */
export function watchTasks(store: TaskStore): WatchedTasks {
  const tasks = new OpenTasks()
  const ends = new Map<string, Promise<ActionOutcome>>()
  const endOf = (taskId: string): Promise<ActionOutcome> => {
    const end = ends.get(taskId) ?? tasks.endOf('', taskId)
    ends.set(taskId, end)
    return end
  }
  const watched: TaskStore = {
    async storeTaskResult(taskId, status, result) {
      // The tool may end it before it has answered with it.
      void endOf(taskId)
      try {
        return await store.storeTaskResult(taskId, status, result)
      } finally {
        if (status === 'failed') tasks.sawStatus('', { taskId, status, statusMessage: textOf(Object(result)) })
        else tasks.sawResult('', taskId, result)
      }
    },
    async updateTaskStatus(taskId, status, message) {
      void endOf(taskId)
      try {
        return await store.updateTaskStatus(taskId, status, message)
      } finally {
        tasks.sawStatus('', { taskId, status, statusMessage: message })
      }
    },
  }
  return { store: { ...store, ...watched }, endOf }
}

function keyOf(scope: string, taskId: string): string {
  return JSON.stringify([scope, taskId])
}
