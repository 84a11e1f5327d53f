import { setTimeout as pause } from 'node:timers/promises'
import type { Erasures } from '../tables/held-requests.js'
import type { WriterTasks } from '../writer-tasks.js'

type WipingTask = 'wipePages' | 'emptyLog' | 'noteWiped'
type Ask = <Name extends WipingTask>(
  task: Name,
  ...parameters: Parameters<WriterTasks[Name]>
) => Promise<ReturnType<WriterTasks[Name]>>

/** Somebody who reads from the log, such as a backup, may do so for long: the store looks again later and later. */
const FIRST_LOOK_MS = 50
const LAST_LOOK_MS = 2000

/** Wipes the files of what was erased or removed. Callers that come before a run has begun share it. */
export class Wiping {
  #run: Promise<void> | null = null

  constructor(
    private readonly erasures: () => Promise<Erasures>,
    private readonly ask: Ask,
  ) {}

  /** Resolves when nothing is left of what was erased before the call. */
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
    // The log has the pages as they were.
    for (let ms = FIRST_LOOK_MS; !(await this.ask('emptyLog')); ms = Math.min(2 * ms, LAST_LOOK_MS)) await pause(ms)
    await this.ask('noteWiped', erased)
  }
}
