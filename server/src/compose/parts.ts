import type { evaluate } from '@countersign/engine'
import type { Config } from '../config.js'
import type { Connections } from '../http/connections.js'
import type { LongWork } from '../http/long-work.js'
import type { UnreadAnswers } from '../http/unread-answers.js'
import type { MutationWriter } from '../mutation-writer.js'
import type { StoreClock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import type { Metrics } from '../ports/metrics.js'
import type { Store } from '../ports/store/store.js'
import type { Tracer } from '../ports/tracer.js'

/** The inputs of a server besides its settings. */
export interface Parts {
  readonly clock: StoreClock
  readonly log: Log
  /** The URL of this server: the issuer of its permits, unless the settings name one. */
  readonly address: string
  /** The requests in progress, where the server shares them with its front. */
  readonly connections?: Connections
  readonly ids?: Ids
  /** The clock for write deadlines: milliseconds since an arbitrary moment. */
  readonly monotonicMs?: () => number
  readonly evaluate?: typeof evaluate
  /** Whether the store may lack entries that the signing keys remember. */
  readonly acceptsLoss?: boolean
  readonly openStore?: (dataDir: string) => Promise<Store>
  /** How often expired decisions are recorded. */
  readonly expireEveryMs?: number
  /** How often the store is measured for the metrics. */
  readonly measureEveryMs?: number
  /** How long a connection may leave its answer unread. */
  readonly stalledAfterMs?: number
  readonly unread?: UnreadAnswers
  readonly longWork?: LongWork
  /** Whether the feed runs in its own thread; otherwise it runs in this one, by the clock above. */
  readonly feedInThread?: boolean
}

/** The base that all parts of a server are built on. */
export interface Base extends Parts {
  readonly config: Config
  readonly connections: Connections
  readonly ids: Ids
  readonly metrics: Metrics
  readonly tracer: Tracer
  readonly store: Store
  readonly writer: MutationWriter
  /** False once the server shuts down. */
  readonly isServing: () => boolean
}
