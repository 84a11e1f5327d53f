/** Calls that return a task immediately (2025-11-25). They are settled by the outcome of the task. */
import type { ActionOutcome } from '@countersign/client'
import { outcomeOfResult, type ToolResult, textOf } from '../calls/result.js'

/** The decision stays open until it expires, and then counts as spent. */
const UNKNOWN: ActionOutcome = { kind: 'unknown' }
/** The most open tasks of one gate. Beyond it, the outcome of the oldest task is unknown. */
const MOST = 1_000

/** The id of the task that a result returns, in 2025-11-25 or in the extension of 2026. Undefined for any other result. */
export function taskOf(result: ToolResult): string | undefined {
  const { taskId } = Object(result.task ?? (result.resultType === 'task' ? result : undefined))
  return typeof taskId === 'string' ? taskId : undefined
}

/**
 * The open tasks of one gate. The messages of its connections report how they end.
 *
 * A scope, such as a session, limits the visibility of a task. Tasks of different scopes are different, even with the same id.
 */
export class OpenTasks {
  readonly #open = new Map<string, OpenTask>()

  /**
   * Resolves with the outcome of a task, or never if no message reports it. If two open tasks have the same id, both outcomes are
   * unknown.
   *
   * @param resultOf requests the result of a task that failed without a text: the outcome depends on the text
   */
  endOf(scope: string, taskId: string, resultOf?: () => Promise<unknown>): Promise<ActionOutcome> {
    const key = keyOf(scope, taskId)
    const same = this.#open.get(key)
    if (same !== undefined) {
      same.end(UNKNOWN)
      return Promise.resolve(UNKNOWN)
    }
    const [oldest] = this.#open.values()
    if (this.#open.size >= MOST) oldest?.end(UNKNOWN)
    return new Promise((resolve) => {
      const end = (outcome: ActionOutcome): void => {
        this.#open.delete(key)
        resolve(outcome)
      }
      this.#open.set(key, { end, resultOf, hasFailed: false })
    })
  }

  /** Takes the result of `tasks/result`. An error response says nothing, because the server may have forgotten the task. */
  sawResult(scope: string, taskId: unknown, result: unknown): void {
    const task = this.#at(scope, taskId)
    if (task?.hasFailed === true) task.end({ kind: 'failed', error: textOf(Object(result)) })
    else task?.end(outcomeOfResult(Object(result)) ?? { kind: 'succeeded', value: result })
  }

  /**
   * Takes a task from `notifications/tasks/status`, `tasks/get` or `tasks/cancel`. The status `completed` without a result says
   * nothing, because the result may be an error. Only the extension reports both together.
   */
  sawStatus(scope: string, task: unknown): void {
    const { taskId, status, statusMessage = '', result, error } = Object(task)
    if (status === 'completed' && typeof result === 'object' && result !== null) this.sawResult(scope, taskId, result)
    if (status === 'failed')
      this.#sawFailure(
        scope,
        taskId,
        `${statusMessage}\n${Object(error).message ?? ''}\n${textOf(Object(result))}`.trim(),
      )
    // The task may have acted anyway.
    if (status === 'cancelled') this.#at(scope, taskId)?.end(UNKNOWN)
  }

  /** All reports of a failure have the same outcome. It depends on the text, which may arrive only with the result. */
  #sawFailure(scope: string, taskId: unknown, said: string): void {
    const task = this.#at(scope, taskId)
    if (task === undefined || (said === '' && task.hasFailed)) return
    task.hasFailed = true
    const end = (): void => task.end({ kind: 'failed', error: said })
    if (said !== '' || task.resultOf === undefined) end()
    else task.resultOf().then((result) => this.sawResult(scope, taskId, result), end)
  }

  #at(scope: string, taskId: unknown): OpenTask | undefined {
    return typeof taskId === 'string' ? this.#open.get(keyOf(scope, taskId)) : undefined
  }
}

interface OpenTask {
  readonly end: (outcome: ActionOutcome) => void
  readonly resultOf: (() => Promise<unknown>) | undefined
  hasFailed: boolean
}

/** `extra.taskStore` of 1.x. */
export interface TaskStore {
  storeTaskResult(taskId: string, status: unknown, result: unknown): Promise<unknown>
  updateTaskStatus(taskId: string, status: unknown, message?: unknown): Promise<unknown>
}

export interface WatchedTasks {
  readonly store: TaskStore
  /** Never resolves if the tool reports nothing, or reports to another store. */
  readonly endOf: (taskId: string) => Promise<ActionOutcome>
}

/**
 * Watches the task store of one call. The tool's report counts even if the store rejects it: the tool may report that a cancelled
 * task has acted.
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
      // The tool may end the task before it returns it.
      void endOf(taskId)
      try {
        return await store.storeTaskResult(taskId, status, result)
      } finally {
        if (status === 'failed') tasks.sawStatus('', { taskId, status, result })
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
