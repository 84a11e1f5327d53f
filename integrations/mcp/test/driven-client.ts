/** A client that can do all that the protocol of 2025-11-25 asks of one, and notes what is said. */

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { vi } from 'vitest'
import { type Line, Transcript } from './transcript.js'

/** Of machines with a lot else to do, in milliseconds. */
export const PATIENCE_MS = 60_000

const CAPABILITIES = {
  sampling: {},
  roots: { listChanged: true },
  elicitation: { form: {}, url: {} },
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
}

const SAMPLED = { model: 'a-model', role: 'assistant' as const, content: { type: 'text' as const, text: 'Hello.' } }

export class DrivenClient {
  readonly transcript = new Transcript()
  readonly sdk: Client
  /** What roots are told when the server asks. */
  roots: { uri: string; name: string }[]
  /** What the user does before the server gets its answer to `sampling/createMessage`. */
  beforeSampling: () => Promise<void> = async () => undefined

  constructor(roots: DrivenClient['roots']) {
    this.roots = roots
    const taskStore = new InMemoryTaskStore()
    this.sdk = new Client({ name: 'driven', version: '1.0.0' }, { capabilities: CAPABILITIES, taskStore })
    this.sdk.setRequestHandler(ListRootsRequestSchema, () => ({ roots: this.roots }))
    this.sdk.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      const { properties = {} } = Object(Object(params).requestedSchema) as { properties?: Record<string, unknown> }
      const content = 'interpretation' in properties ? { interpretation: 'technical' } : { name: 'Ada', integer: 7 }
      return Object(params).mode === 'url' ? { action: 'accept' } : { action: 'accept', content }
    })
    this.sdk.setRequestHandler(CreateMessageRequestSchema, async ({ params }, { taskStore: tasks }) => {
      await this.beforeSampling()
      if (params.task === undefined || tasks === undefined) return SAMPLED
      const task = await tasks.createTask({ ttl: 60_000, pollInterval: 50 })
      await tasks.storeTaskResult(task.taskId, 'completed', SAMPLED)
      return { task } as never
    })
  }

  async connect(transport: Transport): Promise<void> {
    await this.sdk.connect(this.transcript.note(transport), { timeout: PATIENCE_MS })
  }

  /** Of the result, or of the error in its place, nothing is looked at: the transcript holds it. */
  async tried(work: Promise<unknown>): Promise<void> {
    await work.catch(() => undefined)
  }

  /** Calls a tool, whatever comes of it. */
  call(name: string, args: Record<string, unknown> = {}, onprogress?: () => void): Promise<void> {
    const options = { timeout: PATIENCE_MS, ...(onprogress && { onprogress }) }
    return this.tried(this.sdk.callTool({ name, arguments: args }, undefined, options))
  }

  /** All pages of a list of tools. */
  async toolNames(): Promise<string[]> {
    const names: string[] = []
    let cursor: string | undefined
    do {
      const page = await this.sdk.listTools(cursor === undefined ? {} : { cursor })
      names.push(...page.tools.map(({ name }) => name))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return names
  }

  /** Calls a tool as a task, and polls until it is over. */
  async callAsTask(name: string, args: Record<string, unknown>): Promise<void> {
    const { tasks } = this.sdk.experimental
    for await (const _message of tasks.callToolStream({ name, arguments: args }, undefined, {
      task: { ttl: 60_000 },
      timeout: PATIENCE_MS,
    })) {
      // The transcript holds them.
    }
  }

  /**
   * Waits until all is heard that the server has said before. What belongs to no request comes on a stream of its own, on which answers
   * overtake it: the server is made to say something on that stream once more.
   *
   * @param isAnswer what the server says of new roots
   */
  async hearAll(isAnswer: (line: Line) => boolean): Promise<void> {
    const isSaid = (line: Line): boolean => line.from === 'server' && isAnswer(line)
    const before = this.transcript.count(isSaid)
    await this.sdk.sendRootsListChanged()
    await vi.waitFor(
      () => {
        if (this.transcript.count(isSaid) === before) throw new Error('the server has not said it yet')
      },
      { timeout: PATIENCE_MS, interval: 20 },
    )
  }

  /** Waits until the server has said so, since the feature was begun. */
  async heard(feature: string, isMeant: (line: Line) => boolean): Promise<void> {
    await vi.waitFor(
      () => {
        if (!this.transcript.of(feature).some((line) => line.from === 'server' && isMeant(line)))
          throw new Error(`${feature}: the server has not said it yet`)
      },
      { timeout: PATIENCE_MS, interval: 20 },
    )
  }
}

/** For `heard`. */
export const notified =
  (method: string) =>
  (line: Line): boolean =>
    line.kind === 'notification' && line.method === method
