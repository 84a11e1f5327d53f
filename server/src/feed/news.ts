/** What the main thread tells the feed about its own writes, so that the feed need not read them from the store. */
import type { AuditEntry } from '@countersign/contract'

/** Entries that follow each other in a log, each as its text. Without any, it only says where the log ends. */
export interface EntryRun {
  readonly log: string
  /** The index of the first one. */
  readonly from: number
  readonly documents: readonly string[]
}

/** What has happened since the last news. */
export interface News {
  /** Durable entries, in the order in which they became durable. */
  readonly runs: readonly EntryRun[]
  /** False when a write has failed since: the log may have more entries. */
  readonly isEndKnown: boolean
}

export interface NewsDeskOptions {
  readonly send: (news: News) => void
  /** Whether the feed has received everything that was sent. */
  readonly hasArrived: () => boolean
  readonly nowMs: () => number
}

/** One message has all writes within this time. */
const GATHER_MS = 20
/** Messages are at least this far apart, unless the server asks the feed something. */
const EVERY_MS = 100
/** If the texts on their way have more characters than this, the feed reads the log instead. */
const MAX_CHARACTERS = 2 * 1024 * 1024

type OpenRun = Omit<EntryRun, 'documents'> & { readonly documents: string[] }

/** Sends the feed what was written: soon, but not often, and no more than it can take. */
export class NewsDesk {
  #runs: OpenRun[] = []
  #isEndKnown = true
  /** In the runs. */
  #characters = 0
  /** Sent, and perhaps not received yet. */
  #sentCharacters = 0
  #sentAtMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | null = null

  constructor(private readonly options: NewsDeskOptions) {}

  /** @param entries durable ones, in the order of the log; none: it is unknown whether there are any */
  written(entries: readonly AuditEntry[]): void {
    this.#isEndKnown = entries.length > 0
    for (const entry of entries) this.#add(entry)
    this.wake()
  }

  /** Lets the feed look soon, even without news. */
  wake(): void {
    if (this.#timer !== null) return
    const waitMs = Math.max(GATHER_MS, this.#sentAtMs + EVERY_MS - this.options.nowMs())
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (this.options.hasArrived()) this.#send()
      else this.wake()
    }, waitMs).unref()
  }

  /** Call this before a request to the feed, which then knows everything that was written before. */
  flush(): void {
    if (this.#runs.length > 0 || !this.#isEndKnown) this.#send()
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #add(entry: AuditEntry): void {
    const { log, index } = entry
    const text = JSON.stringify(entry)
    const isTooMuch = this.#characters + this.#onTheWay + text.length > MAX_CHARACTERS
    if (isTooMuch) this.#runs = []
    const last = this.#runs.at(-1)
    const isNext = last !== undefined && last.log === log && last.from + last.documents.length === index
    const run = isNext ? last : { log, from: isTooMuch ? index + 1 : index, documents: [] }
    if (!isNext) this.#runs.push(run)
    if (!isTooMuch) run.documents.push(text)
    this.#characters = isTooMuch ? 0 : this.#characters + text.length
  }

  get #onTheWay(): number {
    if (this.#sentCharacters > 0 && this.options.hasArrived()) this.#sentCharacters = 0
    return this.#sentCharacters
  }

  #send(): void {
    const news = { runs: this.#runs, isEndKnown: this.#isEndKnown }
    this.#sentCharacters = this.#onTheWay + this.#characters
    this.#sentAtMs = this.options.nowMs()
    this.#runs = []
    this.#isEndKnown = true
    this.#characters = 0
    this.options.send(news)
  }
}
