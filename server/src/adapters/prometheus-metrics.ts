import { EFFECTS, REASON_CODES } from '@countersign/contract'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { FEED_PARTS, type Metrics } from '../ports/metrics.js'

const HTTP_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const COMMIT_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const EVALUATION_SECONDS = [0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01]
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])

/** The metrics of the process, collected once even if it composes several servers. */
let processRegistry: Registry | undefined

/** The server's own metrics and those of its process, in the text format of Prometheus. Source: docs/monitoring.md "Metrics". */
export function prometheusMetrics(): Metrics {
  processRegistry ??= processMetrics()
  const ofProcess = processRegistry
  const own = new Registry()
  const registers = [own]
  const requests = new Histogram({
    name: 'countersign_http_request_duration_seconds',
    help: 'Time from the headers of a request to the last byte of its response.',
    labelNames: ['route', 'method', 'status'],
    buckets: HTTP_SECONDS,
    registers,
  })
  const decisions = new Counter({
    name: 'countersign_decisions_total',
    help: 'Recorded decisions.',
    labelNames: ['effect', 'reason_code'],
    registers,
  })
  const evaluations = new Histogram({
    name: 'countersign_evaluation_duration_seconds',
    help: 'Time to evaluate a decision: its latency_ms.',
    buckets: EVALUATION_SECONDS,
    registers,
  })
  const commits = new Histogram({
    name: 'countersign_store_commit_duration_seconds',
    help: 'Time of one durable write of a group of mutations.',
    buckets: COMMIT_SECONDS,
    registers,
  })
  // A series that begins with 0 shows its first decision as an increase.
  for (const reason_code of REASON_CODES) decisions.inc({ effect: 'deny', reason_code }, 0)
  for (const effect of EFFECTS) decisions.inc({ effect, reason_code: 'rule_matched' }, 0)
  const commitFailures = new Counter({
    name: 'countersign_store_commit_failures_total',
    help: 'Durable writes of a group of mutations that failed.',
    registers,
  })
  /** While nothing is known, there is no sample: 0 would be a statement. */
  const watch = (name: string, help: string, read: () => number | null | Promise<number>): void => {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const value = await read()
        if (value === null) this.remove()
        else this.set(value)
      },
    })
  }
  return {
    answered(route, method, status, milliseconds) {
      const labels = { route: route ?? 'none', method: METHODS.has(method) ? method : 'other', status }
      requests.observe(labels, milliseconds / 1000)
    },
    decided(effect, reasonCode, latencyMs) {
      decisions.inc({ effect, reason_code: reasonCode })
      evaluations.observe(latencyMs / 1000)
    },
    committed(milliseconds) {
      commits.observe(milliseconds / 1000)
    },
    commitFailed() {
      commitFailures.inc()
    },
    watchWaitingMutations: (read) =>
      watch('countersign_store_waiting_records', 'Mutations that wait for the write in progress.', read),
    watchUnreadBytes: (read) =>
      watch('countersign_unread_answer_bytes', 'Bytes of responses that callers have not read yet.', read),
    watchLiveStreams: (read) => watch('countersign_live_streams', 'Open streams of live events.', read),
    watchLongCalls({ inPlace, waiting }) {
      watch('countersign_long_calls', 'Lists, simulations and similar requests in progress.', inPlace)
      watch('countersign_long_calls_waiting', 'Lists, simulations and similar requests that are waiting.', waiting)
    },
    watchLogRewritten: (read) =>
      watch(
        'countersign_audit_log_rewritten',
        '1 while the audit log does not continue from what this server has signed, so that it signs nothing; otherwise 0.',
        () => (read() ? 1 : 0),
      ),
    watchLogGaps: (read) =>
      watch(
        'countersign_audit_log_gaps',
        'Audit logs with a missing entry that no checkpoint covers. Later entries of these logs are not signed.',
        read,
      ),
    watchReadiness: (read) =>
      watch('countersign_ready', '1 while the server is ready, as GET /readyz says; otherwise 0.', async () =>
        (await read()) ? 1 : 0,
      ),
    watchSessions: (read) =>
      watch('countersign_dashboard_sessions', 'Sessions of the dashboard that have not ended.', read),
    watchStore(read) {
      watch('countersign_reviews_waiting', 'Decisions that wait for a review.', read.waitingReviews)
      watch(
        'countersign_oldest_review_age_seconds',
        'Age of the oldest decision that waits for a review; 0 when none waits.',
        read.oldestReviewSeconds,
      )
      watch(
        'countersign_budgets_nearly_used',
        'Accounts of budgets, in their present period, of which at least 80 % is spent or reserved.',
        read.nearlyUsedBudgets,
      )
      watch(
        'countersign_webhook_lag_seconds',
        'Age of the oldest event that an enabled webhook has not received; 0 when none waits.',
        read.webhookLagSeconds,
      )
      watch(
        'countersign_checkpoint_age_seconds',
        'Time since the newest checkpoint of the audit log was signed.',
        read.checkpointAgeSeconds,
      )
      new Gauge({
        name: 'countersign_feed_lag_seconds',
        help: 'Age of the oldest audit entry that this part of the feed has not processed; 0 when it has processed all.',
        labelNames: ['part'],
        registers,
        collect() {
          for (const part of FEED_PARTS) {
            const value = read.feedLagSeconds(part)
            if (value === null) this.remove(part)
            else this.set({ part }, value)
          }
        },
      })
    },
    async exposition() {
      return { mediaType: own.contentType, text: `${await own.metrics()}\n${await ofProcess.metrics()}` }
    },
  }
}

function processMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}
