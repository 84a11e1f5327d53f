/** The tools of an `McpServer`: how they parse their arguments, and the errors that they throw. */
import { requestContext } from './request-context.js'

/** Private members of both majors. Any of them may be missing. */
interface Internals {
  readonly _registeredTools?: unknown
  readonly validateToolInput?: unknown
  executeToolHandler?: unknown
  handleAutomaticTaskPolling?: unknown
}

/** What is known of one request. */
interface Noted {
  /** Why the tool does not take the arguments that it was asked about with. */
  refusal?: { readonly error: unknown }
  thrown?: { readonly error: unknown }
}

/** Both get the context of the request as their third parameter. */
const RUNNERS = ['executeToolHandler', 'handleAutomaticTaskPolling'] as const

export class RegisteredTools {
  readonly #server: Internals
  /** By the signal of the request. */
  readonly #noted = new WeakMap<AbortSignal, Noted>()

  /**
   * @param server `McpServer`; the tools of any other server are unknown
   * @throws TypeError for one that shows neither what its tools are run with nor what they throw: a call whose outcome is unknown
   * would be taken for a failed one
   */
  constructor(server: object) {
    this.#server = server as Internals
    const { _registeredTools: registered, validateToolInput, executeToolHandler } = this.#server
    const isWatchable = typeof validateToolInput === 'function' && typeof executeToolHandler === 'function'
    if (registered !== undefined && !isWatchable)
      throw new TypeError('gate takes an McpServer of @modelcontextprotocol/sdk 1.24 or later')
    for (const name of RUNNERS) this.#watch(name)
  }

  /**
   * Parses arguments with the schema of the tool. If the schema rejects them, returns them unchanged, and the tool does not run with
   * them, even if the schema changes meanwhile. Undefined for an unknown tool.
   */
  parserOf(name: string, signal: AbortSignal | undefined): ((args: unknown) => Promise<unknown>) | undefined {
    const { _registeredTools: registered, validateToolInput } = this.#server
    if (typeof validateToolInput !== 'function' || !Object.hasOwn(Object(registered), name)) return undefined
    const tool = Object(registered)[name]
    return async (args) => {
      try {
        return (await validateToolInput.call(this.#server, tool, args, name)) ?? args
      } catch (error) {
        if (signal !== undefined) this.#of(signal).refusal = { error }
        return args
      }
    }
  }

  /** The error that the tool of a request has thrown. Its result has only the text. */
  thrownIn(signal: AbortSignal): { readonly error: unknown } | undefined {
    return this.#noted.get(signal)?.thrown
  }

  #watch(name: (typeof RUNNERS)[number]): void {
    const run = this.#server[name]
    if (typeof run !== 'function') return
    this.#server[name] = async (...given: unknown[]): Promise<unknown> => {
      const { signal } = requestContext(given[2])
      const noted = signal && this.#of(signal)
      if (noted?.refusal !== undefined) throw noted.refusal.error
      try {
        return await run.apply(this.#server, given)
      } catch (error) {
        if (noted !== undefined) noted.thrown = { error }
        throw error
      }
    }
  }

  #of(signal: AbortSignal): Noted {
    const known = this.#noted.get(signal)
    if (known !== undefined) return known
    const noted = {}
    this.#noted.set(signal, noted)
    return noted
  }
}
