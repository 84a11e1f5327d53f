/** The tasks that answered the permitted calls of each client. No other client may ask for them. */
import { DeniedError } from '@countersign/client'
import type { Caller } from '../calls/call.js'
import { type ToolResult, withWords } from '../calls/result.js'
import { isObject } from '../messages/json-rpc.js'

/** The limit for all clients together. Beyond it, the client with the most tasks loses its oldest one. */
const MOST = 10_000
/** In characters. A task with a longer id is not remembered. */
const MAX_ID = 1_024

export class PermittedTasks {
  /** By client, in the order of calls. The value is the approver's comment. */
  readonly #ids = new Map<string, Map<string, string | null>>()
  #size = 0

  /** Notes that this task answered a permitted call of this client. @param words the approver's comment, once it is known */
  note(client: string, taskId: string, words: string | null = null): void {
    if (taskId.length > MAX_ID) return
    const ids = this.#ids.get(client) ?? new Map<string, string | null>()
    const isNew = !ids.has(taskId)
    this.#ids.set(client, ids.set(taskId, words ?? ids.get(taskId) ?? null))
    if (isNew) this.#size += 1
    if (this.#size > MOST) this.#forgetOne()
  }

  has(client: string, taskId: unknown): boolean {
    return typeof taskId === 'string' && (this.#ids.get(client)?.has(taskId) ?? false)
  }

  /** Adds the approver's comment to the result of a task, in the answer to a request about it. */
  withWords(client: string, method: string, taskId: unknown, answer: ToolResult): ToolResult {
    const words = this.#ids.get(client)?.get(String(taskId)) ?? null
    if (words === null) return answer
    if (method === 'tasks/result') return withWords(answer, words)
    const { result } = answer
    return method === 'tasks/get' && isObject(result) ? { ...answer, result: withWords(result, words) } : answer
  }

  #forgetOne(): void {
    let [client, ids] = ['', new Map<string, string | null>()]
    for (const [one, its] of this.#ids) if (its.size > ids.size) [client, ids] = [one, its]
    const [oldest] = ids.keys()
    if (oldest !== undefined) ids.delete(oldest)
    if (ids.size === 0) this.#ids.delete(client)
    this.#size -= 1
  }
}

/** The refusal of a request about a task that no permitted call of the client started. */
export function strangeTask(): DeniedError {
  return new DeniedError('unmapped', { detail: 'This client has no such task.' })
}

/** Identifies the client for tasks. `connection` counts if nothing else identifies the client. */
export function clientOf(
  { authInfo, sessionId }: Partial<Pick<Caller, 'authInfo' | 'sessionId'>>,
  connection: string,
): string {
  const known =
    authInfo?.clientId !== undefined
      ? ['client', authInfo.clientId]
      : sessionId !== undefined
        ? ['session', sessionId]
        : ['connection', connection]
  return JSON.stringify(known)
}
