import type { AuditStore } from '../../ports/store/audit.js'
import { type Bound, bound, type FunctionsOf } from '../../ports/store/bound.js'
import type { DeliveryStore, FeedStore } from '../../ports/store/feed.js'
import { listAccounts, readAccounts } from './budgets/accounts.js'
import { findAgent, findAgentMetadata, listAgents, listWrittenAgents, loadAgents } from './collections/agents.js'
import { hasEntry, listAuditEntries, readLog } from './collections/audit.js'
import { findDecision } from './collections/decisions.js'
import { loadKeys, loadKeyUses, saveKeyUses } from './collections/keys.js'
import {
  findPolicyRevision,
  listPolicies,
  listPolicyRevisions,
  loadPolicies,
  loadPoliciesOfSet,
} from './collections/policies.js'
import { loadWebhooks } from './collections/webhooks.js'
import type { Database } from './connection/database.js'
import { listCounts, removeCounts } from './feed/counts.js'
import {
  addDeliveries,
  findDelivery,
  listDeliveries,
  listDue,
  pendingOf,
  removeDeliveries,
  updateDeliveries,
} from './feed/deliveries.js'
import { LogEnds } from './feed/log-ends.js'
import { Readers } from './feed/readers.js'
import { findNodes, listCheckpoints } from './feed/trees.js'

/** The base of the store's roles. */
class OnDatabase {
  /** @param nowMs the time for leases and the ages of marks */
  constructor(
    protected readonly database: Database,
    protected readonly nowMs: () => number,
  ) {}

  protected bound<Functions extends FunctionsOf<Database>>(functions: Functions): Bound<Functions> {
    return bound<Database, Functions>(functions, (work) => work.bind(null, this.database))
  }
}

/** The roles of the store that the feed also has. docs/storage.md says how each is stored. */
export class MongoFeedStore extends OnDatabase implements FeedStore {
  readonly #logEnds = new LogEnds(this.database)
  readonly accounts = this.bound({ get: readAccounts, list: listAccounts })
  readonly agents = this.bound({
    load: loadAgents,
    get: findAgent,
    list: listAgents,
    listWritten: listWrittenAgents,
    getMetadata: findAgentMetadata,
  })
  readonly audit: AuditStore = {
    ...this.bound({ read: readLog, has: hasEntry, list: listAuditEntries }),
    listLogs: () => this.#logEnds.list(),
  }
  readonly counts = this.bound({ list: listCounts, remove: removeCounts })
  readonly decisions: FeedStore['decisions'] = this.bound({ get: findDecision })
  readonly deliveries: DeliveryStore = {
    ...this.bound({ get: findDelivery, list: listDeliveries, listDue, pendingOf }),
    ...this.bound({ update: updateDeliveries, remove: removeDeliveries }),
    add: (delivery) => addDeliveries(this.database, [delivery]),
  }
  readonly keys = this.bound({ load: loadKeys, loadUses: loadKeyUses, saveUses: saveKeyUses })
  readonly policies = this.bound({
    load: loadPolicies,
    loadSet: loadPoliciesOfSet,
    list: listPolicies,
    listRevisions: listPolicyRevisions,
    getRevision: findPolicyRevision,
  })
  readonly readers = new Readers(this.database, this.nowMs)
  readonly trees = this.bound({ getNodes: findNodes, listCheckpoints })
  readonly webhooks = this.bound({ load: loadWebhooks })

  close(): Promise<void> {
    return this.database.close()
  }
}
