import type { CallOptions } from '../options.js'
import type { Requester } from '../requester.js'

/** Whether the server lives and may be asked. Needs no key and sends none. Source: docs/sdk.md "Methods". */
export class Health {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /** Whether the process answers. @throws UnavailableError when nothing answers */
  livez(options?: CallOptions): Promise<boolean> {
    return this.#isOk('/livez', options)
  }

  /** Whether it is ready to decide: false while it starts, stops or cannot store. @throws UnavailableError when nothing answers */
  readyz(options?: CallOptions): Promise<boolean> {
    return this.#isOk('/readyz', options)
  }

  async #isOk(path: string, options: CallOptions | undefined): Promise<boolean> {
    return (await this.#requester.probe({ method: 'GET', path, isAuthenticated: false, options })) === 200
  }
}
