import type { CallOptions } from '../options.js'
import type { StreamRequester } from '../stream-requester.js'

/** Checks whether the server is up and ready. Needs no key and sends none. Source: docs/sdk-methods.md "Methods". */
export class Health {
  readonly #requester: StreamRequester

  /** @internal */
  constructor(requester: StreamRequester) {
    this.#requester = requester
  }

  /** Whether the process answers. @throws UnavailableError when nothing answers */
  livez(options?: CallOptions): Promise<boolean> {
    return this.#isOk('/livez', options)
  }

  /**
   * Whether the server is ready to decide: false while it starts, stops or cannot store. @throws UnavailableError when
   * nothing answers
   */
  readyz(options?: CallOptions): Promise<boolean> {
    return this.#isOk('/readyz', options)
  }

  async #isOk(path: string, options: CallOptions | undefined): Promise<boolean> {
    return (await this.#requester.probe({ method: 'GET', path, isAuthenticated: false, options })) === 200
  }
}
