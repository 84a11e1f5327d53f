/** The tools of an `McpServer`: the arguments that they are asked about and run with, and the errors that they throw. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { isDeepStrictEqual } from 'node:util'
import { heldData } from '@countersign/client/kernel'
import { requestContext } from './request-context.js'

/** Private members of both majors. Any of them may be missing. */
interface Internals {
  readonly _registeredTools?: unknown
  validateToolInput?: unknown
  executeToolHandler?: unknown
  handleAutomaticTaskPolling?: unknown
}

/** The arguments of one call. */
export interface ToolInput {
  /**
   * Gives arguments as the tool will have them, and as they came where it does not take them: it does not run with those, even if it
   * would take them a moment later. Undefined where nobody knows the tool.
   */
  readonly parse: ((args: unknown) => Promise<unknown>) | undefined
  /** The tool gets in it what was parsed: its schema may give something else each time. It is refused if it is not the same any more. */
  readonly run: <Result>(work: () => Result) => Result
}

/** What was parsed by which schema. */
interface Parsed {
  readonly tool: unknown
  schema?: unknown
  args?: unknown
  /** @throws what the tool says of arguments that it does not take */
  take?: () => unknown
}

/** What is known of one request. */
interface Noted {
  thrown?: { readonly error: unknown }
}

type Validate = (tool: object, args: unknown, name: string) => Promise<unknown>

/** Both get the context of the request as their third parameter. */
const RUNNERS = ['executeToolHandler', 'handleAutomaticTaskPolling'] as const

const CHANGED = 'The tool or its arguments have changed since this call was decided on. Call it again.'

export class RegisteredTools {
  readonly #server: Internals
  /** By the signal of the request. */
  readonly #noted = new WeakMap<AbortSignal, Noted>()
  readonly #parsed = new AsyncLocalStorage<Parsed>()
  readonly #validate: Validate | undefined

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
    if (typeof validateToolInput !== 'function') return
    this.#validate = validateToolInput.bind(server)
    this.#server.validateToolInput = async (...given: Parameters<Validate>) => this.#validated(...given)
  }

  /** Of a new call of this tool. */
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

  /** The error that the tool of a request has thrown. Its result has only the text. */
  thrownIn(signal: AbortSignal): { readonly error: unknown } | undefined {
    return this.#noted.get(signal)?.thrown
  }

  /** In the place of what the SDK does right before it runs a tool. */
  #validated(tool: object, args: unknown, name: string): unknown {
    const parsed = this.#parsed.getStore()
    if (parsed === undefined) return this.#validate?.(tool, args, name)
    const { take, schema } = parsed
    if (tool !== parsed.tool) throw new Error(CHANGED)
    // Nothing was asked about: it runs in the mode `observe` alone.
    if (take === undefined) return this.#validate?.(tool, args, name)
    if (Object(tool).inputSchema !== schema || !isDeepStrictEqual(args ?? {}, parsed.args)) throw new Error(CHANGED)
    return take()
  }

  #watch(name: (typeof RUNNERS)[number]): void {
    const run = this.#server[name]
    if (typeof run !== 'function') return
    this.#server[name] = async (...given: unknown[]): Promise<unknown> => {
      const { signal } = requestContext(given[2])
      const noted = signal && this.#of(signal)
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

/** Gives a copy each time. What is not plain data, such as an instance of a class that a schema makes, is the same each time. */
function holding(value: unknown): () => unknown {
  try {
    const take = heldData(value, 'arguments')
    return () => structuredClone(take())
  } catch {
    return () => value
  }
}
