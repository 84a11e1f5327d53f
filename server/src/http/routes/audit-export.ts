import { withDeadline } from '../../concurrency/with-deadline.js'
import { DomainError } from '../../domain-error.js'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import { addTo } from '../../state/shares.js'
import { type ExportDeps, exportLogs } from '../../use-cases/audit/export.js'
import { type Call, routesOf } from '../route.js'

/** How many exports of one API key may run at a time: each reads all logs, as fast as its caller reads. */
const MAX_PER_KEY = 4
/** How long an export may take to produce its first line. */
const BEGIN_MS = 8000

export interface AuditExportDeps extends ExportDeps {
  /** @throws DomainError log_rewritten */
  readonly whileSigned: <T>(call: Pick<Call, 'outside'>, answer: () => Promise<T>) => Promise<T>
}

export function auditExportRoute({ store, catchUp, whileSigned }: AuditExportDeps) {
  const inProgress = new Map<string, number>()
  /** @throws DomainError rate_limited */
  const enter = (keyId: string, signal: AbortSignal): void => {
    if (signal.aborted) return
    if ((inProgress.get(keyId) ?? 0) >= MAX_PER_KEY)
      throw new DomainError('rate_limited', {
        detail: `${MAX_PER_KEY} exports of this key are in progress. Retry when one has ended.`,
        headers: { 'Retry-After': '5' },
      })
    addTo(inProgress, keyId, 1)
    // The signal is aborted whenever the export ends, for any reason.
    signal.addEventListener('abort', () => addTo(inProgress, keyId, -1), { once: true })
  }
  return routesOf({
    'audit.export': {
      isUnbounded: true,
      handle: async (call) => {
        const { caller, pause, callerNow, inPlace } = call
        const signal = call.signal()
        enter(caller.key.id, signal)
        const between = async () => {
          await pause()
          callerNow()
        }
        const late = () => new StoreUnavailableError(`The export did not begin within ${BEGIN_MS} ms.`)
        const begin = ({ outside }: Pick<Call, 'outside'>) => {
          const logs = exportLogs({ store, catchUp: (isDone) => outside(() => catchUp(isDone)) }, between)
          return withDeadline(logs, BEGIN_MS, late)
        }
        const { pieces } = await whileSigned(call, () => inPlace(begin, { waitMs: BEGIN_MS }))
        // Waiting for the trees may take longer than earlier knowledge of keys may be used, so this checks the key
        // again.
        callerNow()
        const stream = eachInPlace(pieces, inPlace)
        return { headers: { 'Content-Type': 'application/x-ndjson' }, stream, cutOff: signal }
      },
    },
  })
}

/** Yields the same pieces. Each one is made in its own place, so the export holds no place while the caller reads. */
async function* eachInPlace(pieces: AsyncIterable<string>, inPlace: Call['inPlace']): AsyncGenerator<string> {
  const iterator = pieces[Symbol.asyncIterator]()
  for (;;) {
    const next = await inPlace(() => iterator.next(), { waitMs: null, isUnderWay: true })
    if (next.done === true) return
    yield next.value
  }
}
