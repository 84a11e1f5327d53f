/** The tools of an `McpServer`: the arguments of their decisions and runs, and the errors that they throw. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { isDeepStrictEqual } from 'node:util'
import { heldData } from '@countersign/client/kernel'
import { requestContext } from './request-context.js'

/** Private members of both majors. Each of them may be missing. */
interface Internals {
  readonly _registeredTools?: unknown
  validateToolInput?: unknown
  executeToolHandler?: unknown
  handleAutomaticTaskPolling?: unknown
}

/** The arguments of one call. */
export interface ToolInput {
  /**
   * Returns the arguments as the tool will receive them. Arguments that the tool rejects are returned unchanged, and the tool does
   * not run with them, even if it would accept them a moment later. Undefined if the tool is unknown.
   */
  readonly parse: ((args: unknown) => Promise<unknown>) | undefined
  /**
   * Runs the work. The tool receives the parsed arguments, because its schema may return different ones each time. A tool that has
   * changed since is refused.
   */
  readonly run: <Result>(work: () => Result) => Result
}

/** Arguments with the schema that parsed them. */
interface Parsed {
  readonly tool: unknown
  schema?: unknown
  args?: unknown
  /** @throws the tool's error for arguments that it rejects */
  take?: () => unknown
}

type Validate = (tool: object, args: unknown, name: string) => Promise<unknown>

/** Both take the context of the request as their third parameter. */
const RUNNERS = ['executeToolHandler', 'handleAutomaticTaskPolling'] as const

const CHANGED = 'The tool or its arguments have changed since this call was decided on. Call it again.'

export class RegisteredTools {
  readonly #server: Internals
  /** By the signal of the request. */
  readonly #thrown = new WeakMap<AbortSignal, { readonly error: unknown }>()
  readonly #parsed = new AsyncLocalStorage<Parsed>()
  readonly #validate: Validate | undefined

  /**
   * @param server an `McpServer`; the tools of any other server are unknown
   * @throws TypeError for a server that hides what its tools run with or what they throw: an unknown outcome would be taken for a
   * failure
   */
  constructor(server: object) {
    this.#server = server as Internals
    const { _registeredTools: registered, validateToolInput, executeToolHandler } = this.#server
    const isWatchable = typeof validateToolInput === 'function' && typeof executeToolHandler === 'function'
    if (registered !== undefined && !isWatchable)
      throw new TypeError('gate takes an McpServer of @modelcontextprotocol/sdk 1.24 or later')
    for (const name of RUNNERS) this.#watch(name)
    if (typeof validateToolInput !== 'function') return
    this.#validate = validateToolInput.bind(server)
    this.#server.validateToolInput = async (...given: Parameters<Validate>) => this.#validated(...given)
  }

  /** The arguments of a new call of this tool. */
  inputOf(name: string): ToolInput {
    const tools = Object(this.#server._registeredTools)
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined
    const parsed: Parsed = { tool }
    const parse = async (args: unknown): Promise<unknown> => {
      Object.assign(parsed, { args, schema: tool.inputSchema })
      try {
        const value = await this.#validate?.(tool, structuredClone(args), name)
        parsed.take = holding(value)
        return value ?? args
      } catch (error) {
        parsed.take = () => {
          throw error
        }
        return args
      }
    }
    return {
      parse: tool === undefined || this.#validate === undefined ? undefined : parse,
      run: (work) => this.#parsed.run(parsed, work),
    }
  }

  /** The error that the tool of a request threw. The result contains only its text. */
  thrownIn(signal: AbortSignal): { readonly error: unknown } | undefined {
    return this.#thrown.get(signal)
  }

  /** Replaces the check that the SDK makes right before it runs a tool. */
  #validated(tool: object, args: unknown, name: string): unknown {
    const parsed = this.#parsed.getStore()
    if (parsed === undefined) return this.#validate?.(tool, args, name)
    const { take, schema } = parsed
    if (tool !== parsed.tool) throw new Error(CHANGED)
    // There was no question: the call runs in the mode `observe` only.
    if (take === undefined) return this.#validate?.(tool, args, name)
    if (Object(tool).inputSchema !== schema || !isDeepStrictEqual(args ?? {}, parsed.args)) throw new Error(CHANGED)
    return take()
  }

  #watch(name: (typeof RUNNERS)[number]): void {
    const run = this.#server[name]
    if (typeof run !== 'function') return
    this.#server[name] = async (...given: unknown[]): Promise<unknown> => {
      const { signal } = requestContext(given[2])
      try {
        return await run.apply(this.#server, given)
      } catch (error) {
        if (signal !== undefined) this.#thrown.set(signal, { error })
        throw error
      }
    }
  }
}

/** Returns a copy each time. A value that is not plain data, such as an instance of a class, is the same each time. */
function holding(value: unknown): () => unknown {
  try {
    const take = heldData(value, 'arguments')
    return () => structuredClone(take())
  } catch {
    return () => value
  }
}
