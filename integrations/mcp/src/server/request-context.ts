/** The second parameter of a request handler: `extra` of 1.x and `ctx` of 2.x. */
import type { AuthInfo } from '../calls/call.js'
import type { Brought } from '../calls/leg.js'
import type { TaskStore } from '../tasks/tasks.js'

export interface RequestContext {
  readonly authInfo: AuthInfo | undefined
  readonly sessionId: string | undefined
  /** Aborted when the caller cancels the request, and when the connection is closed. */
  readonly signal: AbortSignal | undefined
  /** In 2.x, which takes it off the params of the request. */
  readonly brought: Brought | undefined
  /** In 1.x, if the server has tasks. */
  readonly taskStore: TaskStore | undefined
  /** The same context, with these parts for the tool. */
  readonly contextWith: (brought: Brought, taskStore: TaskStore | undefined) => unknown
}

export function requestContext(told: unknown): RequestContext {
  const { mcpReq, http, sessionId, authInfo, signal, taskStore } = Object(told)
  if (mcpReq === undefined) {
    const contextWith = (_brought: Brought, store: unknown) =>
      store === undefined ? told : { ...Object(told), taskStore: store }
    return { authInfo, sessionId, signal, brought: undefined, taskStore, contextWith }
  }
  return {
    authInfo: http?.authInfo,
    sessionId,
    signal: mcpReq.signal,
    brought: { requestState: mcpReq.requestState?.(), inputResponses: mcpReq.inputResponses },
    taskStore: undefined,
    contextWith: ({ requestState, inputResponses }) => ({
      ...Object(told),
      mcpReq: { ...mcpReq, requestState: () => requestState, inputResponses },
    }),
  }
}
