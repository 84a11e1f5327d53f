import { Validator } from '@langchain/core/utils/json_schema'
import { interopParseAsync, isInteropZodSchema } from '@langchain/core/utils/types'

/** What a tool will make of the arguments of one call: it trims, fills in and leaves out before it runs. */
export class ToolSchema {
  readonly #schema: unknown
  #hasRefused = false

  constructor(tool: unknown) {
    this.#schema = Object(tool).schema
  }

  /** The schema does not take what it was given, so that the tool does not run with it. */
  get hasRefused(): boolean {
    return this.#hasRefused
  }

  /** As the tool will have them; as they came where it will not take them. */
  async parse(args: unknown): Promise<unknown> {
    const schema = this.#schema
    try {
      if (isInteropZodSchema(schema)) return await interopParseAsync(schema, args)
      if (typeof schema === 'object' && schema !== null) this.#hasRefused = !new Validator(schema).validate(args).valid
    } catch {
      this.#hasRefused = true
    }
    return args
  }
}
