import { type Bound, bound, type FunctionsOf } from '../../ports/store/bound.js'
import { DamagedRecordError, StoreUnavailableError } from '../../ports/store/errors.js'
import type { CountStore, DeliveryStore, FeedStore, ReaderStore } from '../../ports/store/feed.js'
import type { Connection, Read } from './driver.js'
import { SqliteReaders } from './readers.js'
import { listAccounts, readAccounts } from './tables/accounts.js'
import { findAgent, findAgentMetadata, listAgents, listWrittenAgents, loadAgents } from './tables/agents.js'
import { hasPosition, listAuditEntries, listLogs, readLog } from './tables/audit-entries.js'
import { listCounts } from './tables/counts.js'
import { findDecision } from './tables/decisions.js'
import { findDelivery, listDeliveries, listDue, pendingOf } from './tables/deliveries.js'
import { loadKeys } from './tables/keys.js'
import {
  findPolicyRevision,
  listPolicies,
  listPolicyRevisions,
  loadPolicies,
  loadPoliciesOfSet,
} from './tables/policies.js'
import { findNodes, listCheckpoints } from './tables/trees.js'
import { loadWebhooks } from './tables/webhooks.js'
import type { Ask, FeedTask } from './writer-tasks.js'

/**
 * The roles of the store that the feed also has. They read on the store's connection or a separate one, and write
 * through the only writer.
 */
export abstract class SqliteFeedStore implements FeedStore {
  readonly accounts = this.reads({ get: readAccounts, list: listAccounts })
  readonly agents = this.reads({
    load: loadAgents,
    get: findAgent,
    list: listAgents,
    listWritten: listWrittenAgents,
    getMetadata: findAgentMetadata,
  })
  readonly audit = this.reads({ read: readLog, has: hasPosition, list: listAuditEntries, listLogs })
  readonly counts: CountStore = {
    ...this.reads({ list: listCounts }),
    remove: (series, beforeMs) => this.ask('removeCounts', series, beforeMs),
  }
  readonly decisions: FeedStore['decisions'] = this.reads({ get: findDecision })
  readonly deliveries: DeliveryStore = {
    ...this.reads({ get: findDelivery, list: listDeliveries, listDue, pendingOf }),
    add: (delivery) => this.ask('addDeliveries', JSON.stringify([delivery])),
    update: (deliveries) => this.ask('updateDeliveries', JSON.stringify(deliveries)),
    remove: (webhookId, before) => this.ask('removeDeliveries', webhookId, before),
  }
  readonly keys: FeedStore['keys'] = this.reads({ load: loadKeys })
  readonly policies = this.reads({
    load: loadPolicies,
    loadSet: loadPoliciesOfSet,
    list: listPolicies,
    listRevisions: listPolicyRevisions,
    getRevision: findPolicyRevision,
  })
  readonly readers: ReaderStore
  readonly trees = this.reads({ getNodes: findNodes, listCheckpoints })
  readonly webhooks = this.reads({ load: loadWebhooks })

  /** @param nowMs the time for leases of readers */
  constructor(
    private readonly read: Read,
    private readonly ask: Ask<FeedTask>,
    nowMs: () => number,
  ) {
    this.readers = new SqliteReaders(read, ask, nowMs)
  }

  protected reads<Functions extends FunctionsOf<Connection>>(functions: Functions): Bound<Functions> {
    return bound<Connection, Functions>(
      functions,
      (work) =>
        (...parameters) =>
          this.read(work, parameters),
    )
  }

  abstract close(): Promise<void>
}

export function couldNotRead(cause: unknown): StoreUnavailableError {
  if (cause instanceof DamagedRecordError) return cause
  return new StoreUnavailableError('The store could not read.', { cause })
}
