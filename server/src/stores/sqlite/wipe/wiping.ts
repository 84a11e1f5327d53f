import { setTimeout as pause } from 'node:timers/promises'
import type { Erasures } from '../tables/held-requests.js'
import type { Ask } from '../writer-tasks.js'

/** A reader of the log, such as a backup, may take long, so the store checks again at growing intervals. */
const FIRST_LOOK_MS = 50
const LAST_LOOK_MS = 2000

/** Wipes erased and removed data from the files. Callers that arrive before a run begins share it. */
export class Wiping {
  #run: Promise<void> | null = null

  constructor(
    private readonly erasures: () => Promise<Erasures>,
    private readonly ask: Ask<'wipePages' | 'emptyLog' | 'noteWiped'>,
  ) {}

  /** Resolves when nothing is left of the data that was erased before the call. */
  async join(): Promise<void> {
    const { erased } = await this.erasures()
    while ((await this.erasures()).wiped < erased) {
      this.#run ??= this.#wipe().finally(() => {
        this.#run = null
      })
      await this.#run
    }
  }

  async #wipe(): Promise<void> {
    const { erased } = await this.erasures()
    for (let page: number | null = 1; page !== null; ) page = await this.ask('wipePages', page)
    // The log still contains the former pages.
    for (let ms = FIRST_LOOK_MS; !(await this.ask('emptyLog')); ms = Math.min(2 * ms, LAST_LOOK_MS)) await pause(ms)
    await this.ask('noteWiped', erased)
  }
}
