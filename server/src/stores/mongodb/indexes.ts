import type { IndexDescription } from 'mongodb'

/**
 * The indexes by collection. Each query of the adapter is covered by one: equality members first, then the order. A log
 * is read forward by the ids of its entries, `<log>/<index>`, and so by the index that every collection has; so are
 * readers, nodes and checkpoints.
 */
export const INDEXES: Readonly<Record<string, readonly IndexDescription[]>> = {
  decisions: [
    { key: { at_ms: -1, _id: -1 } },
    { key: { agent_id: 1, at_ms: -1, _id: -1 } },
    { key: { action: 1, at_ms: -1, _id: -1 } },
    { key: { policy_id: 1, at_ms: -1, _id: -1 } },
    { key: { request_hash: 1, at_ms: -1, _id: -1 } },
    { key: { trace_id: 1, at_ms: -1, _id: -1 }, partialFilterExpression: { trace_id: { $exists: true } } },
    { key: { resource: 1, at_ms: -1, _id: -1 } },
    { key: { status: 1, at_ms: -1, _id: -1 } },
    { key: { status: 1, expires_ms: 1 } },
    { key: { unsettled: 1 }, sparse: true },
  ],
  accounts: [
    { key: { opened: -1 } },
    { key: { policy_id: 1, unit: 1, period: 1, starts_at: 1, opened: -1 } },
    { key: { policy_id: 1, opened: -1 } },
    { key: { is_reserved: 1, opened: -1 } },
    { key: { marked_ms: 1 } },
  ],
  agents: [
    { key: { is_listed: 1, at_ms: -1, _id: -1 } },
    { key: { _id: 1, version: 1 }, partialFilterExpression: { document: { $type: 'string' } } },
  ],
  retired_keys: [{ key: { hashes: 1 } }],
  policies: [{ key: { policy_id: 1, version: -1 } }, { key: { until_set: 1, from_set: 1 } }],
  audit: [
    { key: { at_ms: -1, id: -1 } },
    { key: { subject: 1, at_ms: -1, id: -1 } },
    { key: { agent_id: 1, at_ms: -1, id: -1 } },
    { key: { type: 1, at_ms: -1, id: -1 } },
  ],
  deliveries: [
    { key: { webhook_id: 1, at_ms: -1, _id: -1 } },
    { key: { webhook_id: 1, status: 1, at_ms: -1, _id: -1 } },
    { key: { subject: 1 } },
    { key: { 'due.webhook_id': 1, 'due.next_ms': 1 }, sparse: true },
    { key: { 'due.webhook_id': 1, 'due.event_ms': 1 }, sparse: true },
  ],
  counts: [{ key: { series: 1, starts_ms: 1, _id: 1 } }],
  review_places: [{ key: { until_ms: 1 } }],
  claims: [{ key: { expires_ms: 1, _id: 1 } }, { key: { subject: 1 } }],
}
